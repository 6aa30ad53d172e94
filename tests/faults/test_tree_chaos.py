"""Thirty trees of random shape, and workers of all lanes killed and paused at random (I1 to I5, I8)."""

from __future__ import annotations

from collections.abc import Iterator

from openclaw_workers.domain.ids import RunId
from openclaw_workers.domain.messages import MessageState
from openclaw_workers.domain.runs import Run, RunState
from tests.faults.conftest import MakeFleet
from tests.support.checker import check
from tests.support.fleet import Fleet
from tests.support.tree import check_tree
from tests.support.tree_chaos import ChaosReport, TreeChaosPlan, run_chaos
from tests.support.tree_follow_ups import is_follow_up, is_spoken_to

DRAINED_WITHIN = 60
"""Seconds after the last fault, as promised."""


def test_each_child_of_thirty_trees_is_told_once_and_truly_whoever_dies(make_fleet: MakeFleet) -> None:
    plan = TreeChaosPlan()
    survive_chaos(make_fleet(plan.config()), plan)


def survive_chaos(fleet: Fleet, plan: TreeChaosPlan) -> None:
    report = run_chaos(fleet, plan)
    runs = {run.id: run for run in check_tree(fleet.stores, within=DRAINED_WITHIN)}
    undisturbed = [queued for queued in report.sent if queued.session_key not in report.reset_or_deleted]
    check(fleet.stores, undisturbed)
    check(fleet.stores, [queued for queued in report.follow_ups if queued.session_key not in report.reset_or_deleted])
    assert {fleet.receipt(queued).state for queued in undisturbed} == {MessageState.ANSWERED}
    for run in runs.values():
        assert_true(run, runs, report)
    assert [name for name in report.marks if fleet.count(name) > 1] == []
    assert report.pauses > 1, report
    assert len(runs) > plan.trees
    assert any(is_follow_up(run) and run.state is RunState.OK for run in runs.values()), "nobody was spoken to again"
    assert any(attempt.how == "takeover" for run in runs.values() for attempt in run.attempts), "nobody died in a turn"


def assert_true(run: Run, runs: dict[RunId, Run], report: ChaosReport) -> None:
    """It ended as it was meant to, or because it or someone above it was ended.

    Not its own parent, perhaps: an order to stop goes down the tree, and one in its last word may end before it hears.
    """
    plan = run.metadata["plan"]
    match run.state:
        case RunState.OK:
            # What it is told meanwhile, or later, is another program, and ends well.
            meant = plan == "ok" or is_follow_up(run) or is_spoken_to(run)
            assert meant, f"{run.id} was meant to end with {plan}"
        case RunState.KILLED:
            line = [run, *ancestors(run, runs)]
            stopped = any(each.id in report.stopped for each in line)
            removed = any(report.reset_or_deleted & {each.session_key, each.requester_session_key} for each in line)
            reaped = any(above.state is not RunState.OK for above in line[1:])
            assert stopped or removed or reaped, f"nobody stopped {run.id}, and it is {run.reason}"
        case _:
            assert run.state == plan, f"{run.id} was meant to end with {plan}: {run.error}"


def ancestors(run: Run, runs: dict[RunId, Run]) -> Iterator[Run]:
    while run.parent_run_id in runs:
        run = runs[run.parent_run_id]
        yield run
