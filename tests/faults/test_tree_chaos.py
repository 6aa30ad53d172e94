"""Thirty random trees while workers of all lanes are killed and paused at random (I1 to I5, I8)."""

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
"""The promised limit, in seconds after the last fault."""


def test_each_child_of_thirty_trees_is_announced_once_and_correctly(make_fleet: MakeFleet) -> None:
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
        assert_ended_as_planned(run, runs, report)
    assert [name for name in report.marks if fleet.count(name) > 1] == []
    assert report.pauses > 1, report
    assert len(runs) > plan.trees
    assert any(is_follow_up(run) and run.state is RunState.OK for run in runs.values()), "no child had a follow-up"
    assert any(attempt.how == "takeover" for run in runs.values() for attempt in run.attempts), (
        "no worker died during a turn"
    )


def assert_ended_as_planned(run: Run, runs: dict[RunId, Run], report: ChaosReport) -> None:
    """It ended as planned, or because it or an ancestor was stopped.

    That ancestor need not be its parent: a stop travels down the tree, and the parent may end before it arrives.
    """
    plan = run.metadata["plan"]
    match run.state:
        case RunState.OK:
            # A message sent meanwhile or later is another program, which ends well.
            planned = plan == "ok" or is_follow_up(run) or is_spoken_to(run)
            assert planned, f"{run.id} was planned to end with {plan}"
        case RunState.KILLED:
            line = [run, *ancestors(run, runs)]
            stopped = any(each.id in report.stopped for each in line)
            removed = any(report.reset_or_deleted & {each.session_key, each.requester_session_key} for each in line)
            reaped = any(above.state is not RunState.OK for above in line[1:])
            assert stopped or removed or reaped, f"nobody stopped {run.id}, and it is {run.reason}"
        case _:
            assert run.state == plan, f"{run.id} was planned to end with {plan}: {run.error}"


def ancestors(run: Run, runs: dict[RunId, Run]) -> Iterator[Run]:
    while run.parent_run_id in runs:
        run = runs[run.parent_run_id]
        yield run
