"""How `offline/demo` parses a request for sub-agents: how many, and the task of each."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import Final

from openclaw_workers.domain.shorten import one_line, shorten
from openclaw_workers.providers.offline.event_stream import Call

SPAWN: Final = "sessions_spawn"

_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_VALUES = (
    {word: value for value, word in enumerate(_NUMBERS)}
    | {"a": 1, "an": 1, "两": 2}
    | {word: value for value, word in enumerate("一二三四五六七八九十", 1)}
)
_UNSAID = 3
_MOST_CHILDREN = 50
_LABEL_CHARS = 32

FAN_OUT: Final = (
    r"(?:ask|tell|have|let|get|use|spawn|start|launch|create|send|(?:fan\s+out|delegate)(?:\s+this)?\s+to)\s+"
    rf"(?:(?P<many>\d{{1,3}}|an?|{'|'.join(_NUMBERS[1:])})\s+)?"
    r"sub[-\s]?agents?(?!\.\w|[\w/-])(?P<rest>.*)\Z"
)
FAN_OUT_CHINESE: Final = (
    r"(?:派出?|用|使用|让|叫|请|启动|创建|安排)\s*(?P<many>\d{1,3}|[一二两三四五六七八九十])?\s*[个名位]?\s*"
    r"(?:子代理|子智能体|sub-?agents?)(?P<rest>.*)\Z"
)

_LEAD = re.compile(
    r"\A[\s,，]*(?:(?:in parallel|at once|分别|各自|同时|并行)[\s,，]*)*"
    r"(?:(?P<listed>[:：])|(?:and\s+(?:have|let|ask|tell)\s+(?:them|each)(?:\s+of\s+them)?\s+)?(?:to\b|for\b|去|来)?)"
    r"\s*(?:(?:each|分别|各自)\s*)?",
    re.IGNORECASE,
)
# `1,000` is one number, not two items.
_SEPARATOR = r"(?:,(?!\d{3}\b)\s*and\b|,(?!\d{3}\b)|[，、]|\band\b|和|及|与)"
_NUMBER_LIST = re.compile(rf"\d{{1,6}}(?:\s*{_SEPARATOR}\s*\d{{1,6}})+", re.IGNORECASE)
_ITEM_MARK = re.compile(r"\A\s*(?:(?:\d{1,2}[.)、]|[-*•])\s+)?(?:(?:and|then|to)\s+)?", re.IGNORECASE)
_FULL_STOP = re.compile(r"(?<=\w)[.!。！]\Z")


def amount(number: int) -> str:
    """A number in words, up to ten."""
    return _NUMBERS[number] if number < len(_NUMBERS) else str(number)


def sub_agents(number: int) -> str:
    return f"{amount(number)} sub-agent{'s' if number != 1 else ''}"


def children(match: re.Match[str], understood: Callable[[str], bool]) -> list[Call]:
    """One call for each sub-agent that a match of FAN_OUT asks for; none if there is no task."""
    many = _value(match["many"]) if match["many"] else None
    lead = _LEAD.match(match["rest"])
    task = match["rest"][lead.end() if lead else 0 :].strip()
    tasks = _tasks(task, many, understood, listed=bool(lead and lead["listed"]))[:_MOST_CHILDREN]
    return [Call(SPAWN, {"task": task, "label": label}) for task, label in zip(tasks, _labels(tasks), strict=True)]


def _value(number: str) -> int:
    return int(number) if number.isdecimal() else _VALUES[number.lower()]


def _tasks(task: str, many: int | None, understood: Callable[[str], bool], *, listed: bool) -> list[str]:
    """The named tasks, or the one task once per sub-agent."""
    if not task:
        return []
    if listed or not _is_fan_out(task):
        items = _items(task, r"[;；\n]")
        if len(items) > 1:
            return items
        # A list of numbers inside a quoted command belongs to the command.
        numbers = [] if "`" in task else _by_number(task)
        if numbers and many in (None, len(numbers)):
            return numbers
        parts = _items(task, _SEPARATOR)
        if 1 < len(parts) <= _MOST_CHILDREN and many in (None, len(parts)) and all(map(understood, parts)):
            return parts
    return [_tidy(task)] * (_UNSAID if many is None else many)


def _is_fan_out(task: str) -> bool:
    """A task that itself asks for sub-agents is not split: its list is for the next level."""
    return any(re.match(each, task, re.IGNORECASE | re.DOTALL) for each in (FAN_OUT, FAN_OUT_CHINESE))


def _items(text: str, separator: str) -> list[str]:
    """Split at separators outside backticks."""
    items, start = [], 0
    for found in re.finditer(rf"`[^`]*`|(?P<mark>{separator})", text, re.IGNORECASE):
        if found["mark"]:
            items.append(text[start : found.start()])
            start = found.end()
    items.append(text[start:])
    return [item for item in map(_tidy, items) if item]


def _by_number(task: str) -> list[str]:
    """Split `count to 3, 5 and 8 slowly` into three tasks."""
    found = _NUMBER_LIST.search(task)
    if not found:
        return []
    before, after = task[: found.start()], task[found.end() :]
    return [_tidy(f"{before}{number}{after}") for number in re.findall(r"\d+", found[0])]


def _tidy(task: str) -> str:
    return _FULL_STOP.sub("", _ITEM_MARK.sub("", task.strip()).strip())


def _labels(tasks: list[str]) -> list[str]:
    """The beginning of each task; equal labels are numbered."""
    labels = [shorten(one_line(task.replace("`", "")), _LABEL_CHARS) for task in tasks]
    alike, seen = Counter(labels), Counter[str]()
    for index, label in enumerate(labels):
        seen[label] += 1
        if alike[label] > 1:
            labels[index] = f"{label} #{seen[label]}"
    return labels
