"""The first screen of the README: an agent fans out to three sub-agents, and the tree is seen while it grows.

And the example of docs/offline-models.md, as it stands there.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.faulty_workers import start_workers
from tests.support.fleet import Fleet
from tests.support.ocw import Ocw
from tests.support.terminal import Terminal
from tests.support.waiting import eventually

README = Path(__file__).parents[2] / "README.md"
OFFLINE = README.parent / "docs" / "offline-models.md"
BRANCHES = ["├─ count to 3 slowly", "├─ count to 5 slowly", "└─ count to 8 slowly"]


@pytest.fixture(scope="module")
def live_fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """The demo model, and a worker for each lane."""
    with Fleet(tmp_path_factory.mktemp("fleet"), {"agents": {"defaults": {"model": "offline/demo"}}}) as fleet:
        start_workers(fleet, "main", "subagent", "service", concurrency=8)
        yield fleet


def lines_of_a_frame(screen: str) -> list[str]:
    """The lines of the newest frame with all three running."""
    frames = [frame.splitlines() for frame in screen.split("(Ctrl-C leaves)")[1:]]
    shown = [[line for line in frame if "count to" in line] for frame in frames]
    return next((lines for lines in reversed(shown) if [" running " in line for line in lines] == [True] * 3), [])


def test_three_sub_agents_are_shown_running_and_reported_in_one_reply(live_fleet: Fleet, ocw_cli: Ocw) -> None:
    asked = re.search(r'ocw agent -m "(ask three sub-agents[^"]*)"', README.read_text())
    assert asked is not None, "the README has another example"

    with (
        Terminal(ocw_cli, "agent", "-m", asked[1], columns=140) as agent,
        Terminal(ocw_cli, "runs", "tree", "--watch", columns=140) as tree,
    ):
        lines = eventually(lambda: lines_of_a_frame(tree.look()), within=30)
        code = agent.wait(within=60)
        tree.see("─ reply", within=30)
        tree.type("\x03")
        left = tree.wait()

    assert [line.split("  ")[0] for line in lines] == BRANCHES
    assert [line.split()[-1].startswith("run-") for line in lines] == [True] * 3, lines
    assert (code, left) == (0, 130)
    screen = agent.screen
    assert screen.count("Three sub-agents are at work") == 1
    _, _, reply = screen.partition("sub-agents reported")
    for number, counted in ((3, "1 2 3"), (5, "1 2 3 4 5"), (8, "1 2 3 4 5 6 7 8")):
        assert len(re.findall(rf"count to {number} slowly.*{counted}\b", reply)) == 1, screen


def test_the_documented_sub_agent_runs_its_program_and_its_parent_reports_it(live_fleet: Fleet, ocw_cli: Ocw) -> None:
    example = OFFLINE.read_text().partition("A sub-agent with a program of its own")[2]
    commands = [shlex.split(line)[1:] for line in re.findall(r"^ocw .+$", example, re.MULTILINE)]
    assert len(commands) == 3

    outputs = [ocw_cli(*command).out for command in commands]

    assert outputs[-1].startswith("Waiting.")
    assert "status: completed" in outputs[-1]
    assert re.search(r"^child$", outputs[-1], re.MULTILINE), outputs[-1]
