"""The reminders that `offline/demo` schedules and gives: a table of patterns, each with its reply."""

from __future__ import annotations

import re
from typing import Final

from openclaw_workers.domain.shorten import shorten
from openclaw_workers.domain.tool_spec import ToolSpec
from openclaw_workers.providers.offline.event_stream import Call
from openclaw_workers.providers.offline.intent import START, Intent, Reply, patterns, use

REMIND: Final = "Remind the user:"
"""What the message of a reminder begins with, so that the scheduled turn is understood."""


def _remind(match: re.Match[str], tools: list[ToolSpec]) -> Reply:
    what, unit = match["what"].strip().rstrip(".!。！"), match["unit"][0].lower()
    delay = match["number"] + {"秒": "s", "分": "m", "小": "h"}.get(unit, unit)
    job = {"name": f"reminder: {shorten(what, 40)}", "at": delay, "message": f"{REMIND} {what}"}
    return use([Call("cron", {"action": "add", "job": job})], f"I will remind you in {delay}: {what}.", tools)


def _reminder(match: re.Match[str], _: list[ToolSpec]) -> Reply:
    return Reply(f"⏰ Reminder: {match['what'].strip()}")


_NUMBER = r"(?P<number>\d{1,6})"
_UNIT = r"\s*(?P<unit>s|m|h)\w*"
_ABOUT = r"(?:to\s+|about\s+|of\s+)?"

REMINDER_INTENTS = (
    Intent(patterns(rf"\[Scheduled job .*\]\s*{REMIND}\s*(?P<what>.+)\Z"), _reminder),
    Intent(
        patterns(
            START + r"remind\s+me\s+in\s+" + _NUMBER + _UNIT + r"\s+" + _ABOUT + r"(?P<what>.+)\Z",
            START + r"remind\s+me\s+" + _ABOUT + r"(?P<what>.+?)\s+in\s+" + _NUMBER + _UNIT + r"\W*\Z",
            _NUMBER + r"\s*(?P<unit>秒|分|小时)钟?(?:之?后|以后)?提醒我(?P<what>.+)\Z",
        ),
        _remind,
    ),
)
