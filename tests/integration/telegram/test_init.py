"""`ocw init` with a provider and a bot: from nothing to the first answer, and to the first chat."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.test_up import Ocw
from tests.support.fake_telegram import TOKEN, FakeTelegram
from tests.support.fake_telegram_updates import ADA
from tests.support.terminal import Terminal
from tests.support.waiting import eventually
from tests.support.wire import Reply, WireServer

KEY = "sk-typed-unseen-0123"


@pytest.mark.timeout(180)
def test_init_ends_with_the_first_answer_and_the_owner_let_in(telegram: FakeTelegram, tmp_path: Path) -> None:
    with WireServer(answer=lambda _: Reply("I am your assistant.")) as provider:
        ocw = Ocw(tmp_path / "state", OPENAI_BASE_URL=provider.openai_url, TELEGRAM_API_ROOT=telegram.url)
        try:
            with Terminal(ocw, "init") as terminal:
                for question, answer in (
                    ("Provider (anthropic", "openai"),
                    ("API key of openai:", KEY),
                    ("Model [openai/gpt-5]", ""),
                    ("dollars a day", "3"),
                    ("Token of a Telegram bot", TOKEN),
                    ("Start it now?", ""),
                ):
                    terminal.shows(question)
                    terminal.type(f"{answer}\r")
                terminal.shows("I am your assistant.", within=90)
                terminal.shows("Write something to your bot at https://t.me/claw_bot", within=60)
                telegram.bot.say("let me in")
                terminal.shows("Is this you?")
                terminal.type("y\r")
                terminal.shows("is let in; the bot answers from now on")
                assert terminal.wait(within=60) == 0
                assert "To pair:" not in terminal.drawn
            telegram.bot.say("hello")
            eventually(lambda: telegram.bot.texts(ADA.id)[-1] == "I am your assistant.", within=30)
        finally:
            ocw("down")
    assert {each.headers["authorization"] for each in provider.requests} == {f"Bearer {KEY}"}
