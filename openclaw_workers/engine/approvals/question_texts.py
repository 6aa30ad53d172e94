"""What people read of a question, in chats."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from openclaw_workers.config.base import format_duration
from openclaw_workers.domain.outgoing import Button

APPROVAL = (
    "An agent asks to run a command{where}:\n\n{block}\n\n{why}\nOnly an owner may decide, within {time}. Id: {id}"
)
ASK = "{question}\n\nAnswer with a button{way}, within {time}. Id: {id}"
ASK_OPEN = "{question}\n\nAnswer{way}, within {time}. Id: {id}"
BY_MESSAGE = " or with a message"
WITH_MESSAGE = " with a message"
BY_COMMAND = " with `/answer {id} …`"

MOST_BUTTON_CHARS = 60


def approval_text(question_id: str, command: str, *, cwd: str, place: str, why: str, wait: timedelta) -> str:
    where = f" on the {place} in `{cwd}`" if cwd else f" on the {place}"
    return APPROVAL.format(where=where, block=code_block(command), why=why, time=format_duration(wait), id=question_id)


def approval_buttons(question_id: str, *, can_always: bool, time: timedelta) -> tuple[tuple[Button, ...], ...]:
    lasts = format_duration(time)
    first = [Button(text="Allow once", data=f"/approve {question_id} once")]
    first.append(Button(text=f"Allow for {lasts}", data=f"/approve {question_id} for"))
    second = [Button(text="Allow always", data=f"/approve {question_id} always")] if can_always else []
    return tuple(first), (*second, Button(text="Deny", data=f"/deny {question_id}"))


def ask_text(question_id: str, question: str, *, has_choices: bool, by_message: bool, wait: timedelta) -> str:
    if by_message:
        way = BY_MESSAGE if has_choices else WITH_MESSAGE
    else:
        way = (" or" if has_choices else "") + BY_COMMAND.format(id=question_id)
    shape = ASK if has_choices else ASK_OPEN
    return shape.format(question=question, way=way, time=format_duration(wait), id=question_id)


def ask_buttons(question_id: str, choices: Sequence[str]) -> tuple[tuple[Button, ...], ...]:
    """One button a row, because choices may be long. Its data is short: channels limit that."""
    return tuple(
        (Button(text=choice[:MOST_BUTTON_CHARS], data=f"/answer {question_id} {number}"),)
        for number, choice in enumerate(choices, start=1)
    )


def code_block(text: str) -> str:
    """A fence that is longer than any in the text."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}\n{text}\n{fence}"
