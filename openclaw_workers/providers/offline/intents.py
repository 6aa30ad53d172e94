"""What `offline/demo` understands: a table of patterns, each with its reply.

To add something, add a row; the first row that matches wins. Rows that call a tool are in `tool_intents`,
`memory_intents` and `reminder_intents`.
"""

from __future__ import annotations

import re

from openclaw_workers.domain.shorten import shorten
from openclaw_workers.domain.tool_spec import ToolSpec
from openclaw_workers.providers.offline.fanout import FAN_OUT, FAN_OUT_CHINESE, children, sub_agents
from openclaw_workers.providers.offline.intent import START, Intent, Reply, patterns, use
from openclaw_workers.providers.offline.memory_intents import MEMORY_INTENTS
from openclaw_workers.providers.offline.reminder_intents import REMINDER_INTENTS
from openclaw_workers.providers.offline.tool_intents import TOOL_INTENTS

_LONGEST_COUNT = 600
_QUICK_WORD_SECONDS = 0.05
_SLOW_WORD_SECONDS = 1.0

ABOUT = (
    "I am offline/demo, a small built-in stand-in that follows simple requests while no model key is set. "
    "Set a provider's API key to talk to a real model."
)
FAN_OUT_EXAMPLE = "ask three sub-agents to count to 3, 5 and 8 slowly"
CAN_DO = (
    "Try: run `ls` · write hello to notes.txt · read notes.txt · list files · search for hello in files · "
    "remember that my cat is called Miso · what is my cat called? · remind me in 10 seconds to stretch · "
    "count to 20 slowly · "
    f"{FAN_OUT_EXAMPLE} · what tools do you have?"
)


def reply_to(text: str, tools: list[ToolSpec]) -> Reply:
    """The reply to one message."""
    if found := _find(text):
        intent, match = found
        return intent.reply(match, tools)
    understood = shorten(text, 80)
    heard = f"I read “{understood}”, and that is more than I can do" if text else "There was no text for me"
    return Reply(f"{heard}. {ABOUT} {CAN_DO}")


def _find(text: str) -> tuple[Intent, re.Match[str]] | None:
    for intent in INTENTS:
        for pattern in intent.patterns:
            if match := pattern.search(text):
                return intent, match
    return None


def _fan_out(match: re.Match[str], tools: list[ToolSpec]) -> Reply:
    calls = children(match, lambda task: _find(task) is not None)
    if not calls:
        return Reply(f"Tell me what the sub-agents should do, for example: {FAN_OUT_EXAMPLE}.")
    return use(calls, f"I hand this to {sub_agents(len(calls))}.", tools)


def _count(match: re.Match[str], _: list[ToolSpec]) -> Reply:
    last = min(int(match["number"]), _LONGEST_COUNT)
    slowly = re.search(r"slow|慢", match.string, re.IGNORECASE)
    words = " ".join(str(number) for number in range(1, last + 1))
    gap_seconds = _SLOW_WORD_SECONDS if slowly else _QUICK_WORD_SECONDS
    return Reply(f"{words} – done.", word_seconds=gap_seconds)


def _wait(match: re.Match[str], _: list[ToolSpec]) -> Reply:
    unit_seconds = 60 if re.match(r"m|分", match["unit"] or "", re.IGNORECASE) else 1
    seconds = min(int(match["number"]) * unit_seconds, _LONGEST_COUNT)
    words = " ".join(str(second) for second in range(1, seconds + 1))
    return Reply(f"Waiting: {words} – done.", word_seconds=_SLOW_WORD_SECONDS)


def _list_tools(_: re.Match[str], tools: list[ToolSpec]) -> Reply:
    if not tools:
        return Reply("I have no tools here.")
    rows = "\n".join(f"- {tool.name}: {tool.description}" for tool in tools)
    return Reply(f"I have {len(tools)} tools:\n{rows}")


def _greet(_: re.Match[str], __: list[ToolSpec]) -> Reply:
    return Reply(f"Hello! {ABOUT} {CAN_DO}")


_NUMBER = r"(?P<number>\d{1,6})"

INTENTS = (
    # The message of a scheduled job may match any of the others.
    *REMINDER_INTENTS,
    # Early, because a sub-agent's task may match any of the others.
    Intent(patterns(START + FAN_OUT, START + FAN_OUT_CHINESE), _fan_out),
    *TOOL_INTENTS,
    Intent(patterns(r"\bcount\s+(?:\w+\s+){0,2}?to\s+" + _NUMBER, r"数到\s*" + _NUMBER), _count),
    Intent(
        patterns(
            r"\b(?:wait|sleep|pause)\s+(?:for\s+)?" + _NUMBER + r"\s*(?P<unit>s|m)?",
            r"等待?\s*" + _NUMBER + r"\s*(?P<unit>秒|分)?",
        ),
        _wait,
    ),
    *MEMORY_INTENTS,
    Intent(patterns(r"\b(?:what|which|list)\b.*\btools?\b", r"(?:什么|哪些).*工具|工具.*(?:什么|哪些)"), _list_tools),
    Intent(
        patterns(
            r"\A\s*(?:hi|hello|hey|good (?:morning|afternoon|evening))\b",
            r"\b(?:who|what) are you\b|\A\s*help\b",
            r"你好|您好|你是谁|帮助",
        ),
        _greet,
    ),
)
