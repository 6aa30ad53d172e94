"""Completion in a chat, and words that are no commands."""

from __future__ import annotations

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from openclaw_workers.cli.chat.words import Words, own_help
from openclaw_workers.domain.messages import Authority
from openclaw_workers.engine.intake.commands.registry import list_commands
from openclaw_workers.errors import BadInput


@pytest.fixture
def words() -> Words:
    commands = list_commands(["/new", "/reset"], Authority.OWNER)
    return Words(commands, ["openai/gpt-5", "fast"], ["agent:main:main", "agent:main:notes"])


def complete(words: Words, typed: str) -> list[str]:
    document = Document(typed)
    return [
        typed[: len(typed) + each.start_position] + each.text
        for each in words.get_completions(document, CompleteEvent())
    ]


def test_commands_of_the_chat_and_of_the_session_are_completed(words: Words) -> None:
    assert complete(words, "/s") == ["/send", "/session", "/status", "/steer", "/stop", "/subagents"]
    assert complete(words, "hello /s") == []


def test_models_sessions_and_fixed_words_are_completed(words: Words) -> None:
    assert complete(words, "/model gp") == ["/model openai/gpt-5"]
    assert complete(words, "/session not") == ["/session agent:main:notes"]
    assert complete(words, "/verbose f") == ["/verbose off", "/verbose full"]
    assert complete(words, "/subagents st") == ["/subagents steer", "/subagents stop"]
    assert complete(words, "/model x y") == []


def test_a_lone_unknown_word_is_refused_with_the_nearest_command(words: Words) -> None:
    with pytest.raises(BadInput) as refused:
        words.check_known("/histroy")
    assert refused.value.hint == "did you mean /history?"
    words.check_known("/status")
    words.check_known("/usr/bin/env is what")


def test_the_chat_explains_its_own_commands() -> None:
    assert "/steer MESSAGE" in own_help()
    assert own_help("steer").startswith("/steer MESSAGE")
    assert own_help("status") == ""
