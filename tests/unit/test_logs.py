"""One line format for our events and for other libraries' lines."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator

import pytest
import structlog

from openclaw_workers.logs import SUPERVISED_VARIABLE, run_context, setup_logging
from openclaw_workers.redaction import mask_secrets


@pytest.fixture(autouse=True)
def restored_logging(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv(SUPERVISED_VARIABLE, "1")
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    structlog.reset_defaults()


def test_events_and_foreign_lines_carry_the_run_they_belong_to(capsys: pytest.CaptureFixture[str]) -> None:
    setup_logging()
    with run_context(runId="r1", lane="main", parentRunId=None):
        structlog.get_logger("ours").info("run.ended", token="3:a")
        logging.getLogger("celery").warning("lost %s", "redis://:secret@host/0")
    structlog.get_logger("ours").debug("run.stepped")

    assert capsys.readouterr().err.splitlines() == [
        "run.ended token=3:a runId=r1 lane=main",
        "WARNING lost redis://:***@host/0 runId=r1 lane=main",
    ]


def test_a_value_cannot_pretend_to_be_another_field_or_line(capsys: pytest.CaptureFixture[str]) -> None:
    setup_logging()
    structlog.get_logger("ours").info("tool.failed", why="a b=c\nERROR run.lost", code="\x1b[31m")

    assert capsys.readouterr().err == 'tool.failed why="a b=c\\nERROR run.lost" code="\\u001b[31m"\n'


def test_json_lines_have_the_same_fields(capsys: pytest.CaptureFixture[str]) -> None:
    setup_logging(json=True)
    with run_context(runId="r1"):
        structlog.get_logger("ours").error("run.failed", why="x")

    line = json.loads(capsys.readouterr().err)
    assert line.pop("at").endswith("Z")
    assert line == {"event": "run.failed", "level": "error", "runId": "r1", "why": "x"}


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("redis://:p@ss@host:6379/0", "redis://:***@host:6379/0"),
        ("rediss://user:p@host", "rediss://user:***@host"),
        ("http://host:8080/a@b", "http://host:8080/a@b"),
        ("key sk-ant-0123456789", "key sk-***"),
        ("redis://host/0?password=p@ss", "redis://host/0?password=***"),
        ("redis://host/0?db=1&Password=p)s\\s&ssl=1 gone", "redis://host/0?db=1&Password=***&ssl=1 gone"),
        ("rediss://host?ssl_password=p#x", "rediss://host?ssl_password=***#x"),
        ("http://host/a?api_key=k&q=1", "http://host/a?api_key=***&q=1"),
        ("password=hunter2 token=3:a key=k", "password=*** token=3:a key=k"),
    ],
)
def test_secrets_are_masked(text: str, masked: str) -> None:
    assert mask_secrets(text) == masked


def test_a_masked_json_line_is_still_json(capsys: pytest.CaptureFixture[str]) -> None:
    setup_logging(json=True)
    structlog.get_logger("ours").info("store.disconnected", url='at "redis://host?password=p\\" or elsewhere')

    line = json.loads(capsys.readouterr().err)
    assert line["url"] == 'at "redis://host?password=***" or elsewhere'


@pytest.mark.parametrize("as_json", [True, False])
def test_half_a_character_in_a_value_does_not_break_the_line(as_json: bool, capsys: pytest.CaptureFixture[str]) -> None:
    setup_logging(json=as_json)

    structlog.get_logger("half").info("run.failed", error="a face: \ud83d")

    assert "a face: ?" in capsys.readouterr().err
