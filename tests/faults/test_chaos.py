"""Workers die at random while 50 sessions are spoken to (I1, I2, I3, I5, I8)."""

from __future__ import annotations

from openclaw_workers.domain.messages import MessageState
from tests.faults.conftest import MakeFleet
from tests.support.chaos import Aftermath, Storm, run_chaos
from tests.support.checker import check
from tests.support.fleet import Fleet

DRAINED_WITHIN = 60
"""Seconds after the last fault, as promised."""


def test_followup_answers_each_of_1000_messages_once_and_in_order_whoever_dies(make_fleet: MakeFleet) -> None:
    storm = Storm()
    follow_up(make_fleet(storm.config("followup")), storm)


def test_collect_covers_each_of_1000_messages_by_one_turn_in_order_whoever_dies(make_fleet: MakeFleet) -> None:
    storm = Storm()
    collect(make_fleet(storm.config("collect")), storm)


def follow_up(fleet: Fleet, storm: Storm) -> None:
    aftermath = run_chaos(fleet, storm)
    check(fleet.stores, aftermath.sent, one_each=True, within=DRAINED_WITHIN)
    assert_answered_once(fleet, aftermath)
    assert len(fleet.runs()) == storm.messages


def collect(fleet: Fleet, storm: Storm) -> None:
    aftermath = run_chaos(fleet, storm)
    check(fleet.stores, aftermath.sent, within=DRAINED_WITHIN)
    assert_answered_once(fleet, aftermath)
    assert max(len(run.covers) for run in fleet.runs()) > 1, "nothing was ever collected"
    assert sum(len(run.covers) for run in fleet.runs()) == storm.messages


def assert_answered_once(fleet: Fleet, aftermath: Aftermath) -> None:
    assert {fleet.receipt(queued).state for queued in aftermath.sent} == {MessageState.ANSWERED}
    assert [name for name in aftermath.marks if fleet.count(name) > 1] == []
    assert any(attempt.how == "takeover" for run in fleet.runs() for attempt in run.attempts), "nobody died in a turn"
