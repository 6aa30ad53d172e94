"""Which names a summary must keep."""

from __future__ import annotations

import time

import pytest

from openclaw_workers.agent.context.identifiers import MAX_IDENTIFIERS, expected, find, instructions, missing
from openclaw_workers.agent.prompt.texts import KEEP_IDENTIFIERS
from openclaw_workers.config.context import CompactionSettings
from openclaw_workers.domain.transcript import TranscriptEntry
from openclaw_workers.domain.untrusted import wrap
from tests.unit.agent.entries import assistant, result, user


@pytest.mark.parametrize(
    "name",
    [
        "550e8400-e29b-41d4-a716-446655440000",
        "9b67e8c",
        "da39a3ee5e6b4b0d3255bfef95601890afd80709",
        "https://example.com/a/b?x=1#frag",
        "10.0.0.17:6379",
        "192.168.1.1",
        "db-prod-01.example.com:5432",
        "config/production.yaml",
        "/etc/nginx/nginx.conf",
        "main.py",
        "OPS-1234",
        "run-3f2a91bc",
        "ada@example.org",
    ],
)
def test_identifiers_are_found_in_a_sentence(name: str) -> None:
    assert find([f"We changed {name}, and then ({name}) again."]) == [name]


def test_plain_words_and_numbers_are_not_identifiers() -> None:
    assert find(["The answer, e.g. and/or 42 of 1000, was accepted at 12.30; see section 3.2 of it."]) in (
        [],
        ["and/or"],
    )


def test_messages_come_before_tool_results_and_newest_first() -> None:
    log: list[TranscriptEntry] = [
        user("first look at old.py"),
        assistant("reading", "a"),
        result("a", " ".join(f"file{n}.txt" for n in range(50))),
        user("now look at new.py"),
    ]
    names = expected(log)
    assert names[:2] == ["new.py", "old.py"]
    assert len(names) == MAX_IDENTIFIERS


def test_an_identifier_inside_another_is_required_once() -> None:
    assert expected([user("see https://example.com/docs/a.md and a.md")]) == ["https://example.com/docs/a.md"]


def test_identifiers_inside_our_markers_are_not_required() -> None:
    uuid = "550e8400-e29b-41d4-a716-446655440000"
    quoted = wrap("see main.py", f"session agent:main:subagent:{uuid}")
    assert expected([user(quoted), assistant("", "a"), result("a", quoted)]) == ["main.py"]
    assert expected([user(f"{quoted} by {uuid}")]) == ["main.py", uuid]


def test_missing_identifiers_are_named() -> None:
    assert missing("we changed a.py", ["a.py", "b.py"]) == ["b.py"]


def test_the_policy_decides_the_instructions() -> None:
    assert instructions(CompactionSettings()) == KEEP_IDENTIFIERS
    assert instructions(CompactionSettings(identifier_policy="off")) == ""
    custom = CompactionSettings(identifier_policy="custom", identifier_instructions="Keep order numbers.")
    assert instructions(custom) == "Keep order numbers."


@pytest.mark.parametrize("piece", ["a", "a.", "a-", "a/", "a+", "1a", "x@", "A1-", "1.1."])
def test_no_text_makes_the_search_slow(piece: str) -> None:
    started = time.monotonic()
    find([piece * 200_000])
    assert time.monotonic() - started < 2
