"""An outgoing message becomes calls to the Bot API."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from telegram.error import TelegramError

from ingress.channels.adapter import Part
from ingress.channels.telegram.menu import CommandMenu, menu
from ingress.channels.telegram.render import render
from ingress.channels.telegram.webhook import webhook_url
from openclaw_workers.domain.messages import Route
from openclaw_workers.domain.outgoing import Button, OutgoingFile, OutgoingKind, OutgoingMessage

TABLE = "| a |\n|---|\n| 1 |"


def rendered(text: str = "", *, rich: bool = False, **more: Any) -> list[Part]:
    route = Route(channel="telegram", to="1")
    return render(OutgoingMessage(id="1", kind=OutgoingKind.REPLY, route=route, text=text, **more), rich=rich)


def test_the_first_part_replies_and_the_last_text_has_the_buttons() -> None:
    button = Button(text="Yes", data="/approve 1")
    file = OutgoingFile(id="f", name="a.txt")
    parts = rendered("word " * 1200, reply_to="7", buttons=((button,),), files=(file,))
    assert [part.payload.get("replyTo") for part in parts] == ["7", None, None]
    assert [bool(part.payload.get("buttons")) for part in parts] == [False, True, False]
    assert parts[2].file == file


def test_what_is_no_message_number_is_not_replied_to() -> None:
    (part,) = rendered("hi", reply_to="5-edit-100")
    assert "replyTo" not in part.payload


def test_a_message_without_text_and_files_has_no_part() -> None:
    assert rendered("  ") == []


def test_a_file_alone_replies_itself() -> None:
    (part,) = rendered(files=(OutgoingFile(id="f", name="a.txt"),), reply_to="7")
    assert part.payload == {"replyTo": "7"}


def test_buttons_that_telegram_would_not_take_are_listed_as_text() -> None:
    (part,) = rendered("Sure?", buttons=((Button(text="Yes", data="x" * 65), Button(text="Site", url="https://a.b")),))
    assert "buttons" not in part.payload
    assert part.payload["text"] == f"Sure?\n\n• Yes: {'x' * 65}\n• Site: https://a.b"


def test_rich_messages_are_for_tables_and_long_answers_only() -> None:
    assert "rich" not in rendered("short", rich=True)[0].payload
    assert "rich" not in rendered(TABLE)[0].payload
    (table,) = rendered(TABLE, rich=True)
    assert table.payload["rich"]
    assert table.payload["plain"][0]["text"] == "a\n-\n1"
    assert len(rendered("word " * 1200, rich=True)) == 1
    assert len(rendered("word " * 12_000, rich=True)) > 1


def test_the_menu_has_what_telegram_can_show() -> None:
    assert menu([("status", "how it is"), ("no-dash", "x"), ("Upper", "x"), ("empty", " ")]) == [
        ("status", "how it is")
    ]


def test_the_menu_is_no_longer_than_telegram_takes() -> None:
    assert len(menu([(f"skill_{number}", "x") for number in range(150)])) == 100


def test_the_menu_follows_the_commands_and_is_set_only_when_they_change() -> None:
    commands = [("status", "how it is")]
    sent: list[list[str]] = []

    async def known() -> list[tuple[str, str]]:
        return list(commands)

    async def send(shown: Sequence[tuple[str, str]]) -> None:
        if len(sent) == 1 and not failures:
            failures.append(TelegramError("busy"))
            raise failures[0]
        sent.append([name for name, _ in shown])

    async def follow() -> None:
        kept = CommandMenu(known, send, look_seconds=0.001)
        await kept.show()
        await kept.show()
        keeping = asyncio.create_task(kept.keep())
        commands.append(("weather", "a skill"))
        while len(sent) < 2:
            await asyncio.sleep(0.001)
        keeping.cancel()

    failures: list[TelegramError] = []
    asyncio.run(asyncio.wait_for(follow(), 20))
    assert (sent, len(failures)) == ([["status"], ["status", "weather"]], 1)


def test_a_webhook_without_a_path_gets_ours() -> None:
    assert webhook_url("https://a.example/", "work") == "https://a.example/channels/telegram/work"
    assert webhook_url("https://a.example/hook", "work") == "https://a.example/hook"
