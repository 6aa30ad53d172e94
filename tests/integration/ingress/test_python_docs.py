"""The examples of docs/python.md, run from top to bottom as one program."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from openclaw_workers import Client
from tests.support.fleet import Fleet
from tests.support.ingress import new_token, start_ingress

PAGE = Path(__file__).parents[3] / "docs" / "python.md"
ADDRESS = "http://127.0.0.1:18789"
TOKEN = "ocw_…"


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[Fleet]:
    """As in the examples, agents use the demo model."""
    with Fleet(tmp_path / "fleet", {"agents": {"defaults": {"model": "offline/demo"}}}) as fleet:
        fleet.ready(*(fleet.worker(lane, wait=False) for lane in ("main", "subagent", "service")))
        yield fleet


def examples(fleet: Fleet) -> tuple[str, list[str], str]:
    """The address, the token, and the examples with both."""
    url, token = start_ingress(fleet).url, new_token(fleet)
    found = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    return url, [each.replace(ADDRESS, url).replace(TOKEN, token) for each in found], token


def test_every_example_of_the_page_runs(demo: Fleet, capsys: pytest.CaptureFixture[str]) -> None:
    url, found, token = examples(demo)
    assert len(found) == 9
    with Client(url, token=token) as client:
        names = {"client": client, "__name__": "example"}
        for example in found:
            # The first example opens a client of its own, which the others must not use.
            exec(compile(example, str(PAGE), "exec"), names)
            names["client"] = client
    printed = capsys.readouterr().out
    assert "1 2 3" in printed
    assert "True" in printed
    assert "['ok', 'ok', 'ok']" in printed
    assert "no run run-0000000000000000" in printed
