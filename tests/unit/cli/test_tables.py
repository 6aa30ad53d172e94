"""Tables fit the terminal, and what they show of an id is enough to name it."""

from __future__ import annotations

import pytest

from openclaw_workers.cli.render.sessions import session_table
from openclaw_workers.cli.render.text import short_ids, short_key, table


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")


def test_named_columns_are_cut_until_the_table_fits_and_no_others() -> None:
    head = ("RUN", "SESSION", "MODEL")
    text = table(head, [("run-12345678", "s" * 50, "m" * 50)], cut=("SESSION", "MODEL"))
    assert max(map(len, text.splitlines())) <= 40
    assert "run-12345678" in text
    assert text.count("…") == 2


def test_a_table_that_fits_is_not_cut() -> None:
    assert "…" not in table(("A", "B"), [("x", "y" * 30)], cut=("B",))


def test_named_columns_are_left_out_before_others_are_cut() -> None:
    head, row = ("TREE", "LANE", "HOST", "RUN"), ("t" * 30, "subagent", "host/12345", "run-12345678")
    text = table(head, [row], cut=("TREE",), drop=("LANE",))
    assert max(map(len, text.splitlines())) <= 40
    assert text.splitlines()[0].split() == ["TREE", "HOST", "RUN"]
    assert "ttttt…" in text


def test_a_wide_character_takes_two_columns() -> None:
    text = table(("NAME",), [("汉" * 30,)], cut=("NAME",))
    assert text.splitlines()[1] == "汉" * 19 + "…"


def test_run_ids_are_as_long_as_it_takes_to_tell_them_apart() -> None:
    ids = ["run-0000000011112222", "run-0000000011112223", "run-ffff000011112223"]
    assert len(set(short_ids(ids).values())) == 3
    assert short_ids(ids[2:]) == {ids[2]: "run-ffff0000"}
    assert short_ids([]) == {}


@pytest.mark.parametrize(
    ("key", "shown"),
    [
        ("agent:main:subagent:e0d16a97-6029-502b-b628-103acc3d407a", "agent:main:subagent:e0d16a97"),
        ("agent:main:main", "agent:main:main"),
    ],
)
def test_a_session_key_is_shown_without_the_end_of_its_uuid(key: str, shown: str) -> None:
    assert short_key(key) == shown


def test_what_tells_names_apart_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    rows = [("run-1", "agent:main:telegram:dm:17", "anthropic/claude-opus-4-6"), ("run-2", "a label of words", "-")]
    lines = table(("RUN", "SESSION", "MODEL"), rows, cut=("SESSION", "MODEL")).splitlines()
    assert max(map(len, lines)) <= 30
    assert lines[1].split() == ["run-1", "…m:dm:17", "…ude-opus-4-6"]
    assert "a label" in lines[2]


def test_no_column_is_cut_short_while_another_is_long() -> None:
    text = table(("NAME", "REASON"), [("n" * 40, "r" * 40)], cut=("NAME", "REASON"))
    assert [len(cell) for cell in text.splitlines()[1].split()] == [16, 22]


def test_a_session_is_named_in_full_before_its_counts_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    key = "agent:main:telegram:group:-1001234567890:topic:42"
    counts = {"waiting": 0, "turns": 10, "tokens": 1000, "updatedAt": 0}
    lines = session_table([{"sessionKey": key, "label": "notes", "state": "idle", **counts}]).splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[1].split()[:3] == [key, "notes", "idle"]
