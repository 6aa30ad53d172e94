"""Workers are killed at random while 50 sessions receive messages (I1, I2, I3, I5, I8)."""

from __future__ import annotations

from openclaw_workers.domain.messages import MessageState
from tests.faults.conftest import MakeFleet
from tests.support.chaos import ChaosPlan, ChaosReport, run_chaos
from tests.support.checker import check
from tests.support.fleet import Fleet

DRAINED_WITHIN = 60
"""The promised limit, in seconds after the last fault."""


def test_followup_answers_1000_messages_once_and_in_order_while_workers_die(make_fleet: MakeFleet) -> None:
    plan = ChaosPlan()
    follow_up(make_fleet(plan.config("followup")), plan)


def test_collect_answers_1000_messages_once_and_in_order_while_workers_die(make_fleet: MakeFleet) -> None:
    plan = ChaosPlan()
    collect(make_fleet(plan.config("collect")), plan)


def follow_up(fleet: Fleet, plan: ChaosPlan) -> None:
    report = run_chaos(fleet, plan)
    check(fleet.stores, report.sent, one_each=True, within=DRAINED_WITHIN)
    assert_answered_once(fleet, report)
    assert len(fleet.runs()) == plan.messages


def collect(fleet: Fleet, plan: ChaosPlan) -> None:
    report = run_chaos(fleet, plan)
    check(fleet.stores, report.sent, within=DRAINED_WITHIN)
    assert_answered_once(fleet, report)
    assert max(len(run.covers) for run in fleet.runs()) > 1, "no turn collected several messages"
    assert sum(len(run.covers) for run in fleet.runs()) == plan.messages


def assert_answered_once(fleet: Fleet, report: ChaosReport) -> None:
    assert {fleet.receipt(queued).state for queued in report.sent} == {MessageState.ANSWERED}
    assert [name for name in report.marks if fleet.count(name) > 1] == []
    assert any(attempt.how == "takeover" for run in fleet.runs() for attempt in run.attempts), (
        "no worker died during a turn"
    )
