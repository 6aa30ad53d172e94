"""A job runs with the authority of who made it, and stops when that is withdrawn."""

from __future__ import annotations

from typing import Any

import pytest

from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.domain.job import Job
from openclaw_workers.domain.messages import Authority, Route
from openclaw_workers.domain.tokens import Scope
from openclaw_workers.engine.client_graph import pairing_of
from openclaw_workers.engine.schedules.fire import WITHDRAWN
from openclaw_workers.store.tokens import Tokens
from tests.component.engine.conftest import SESSION, EngineHarness, MakeEngine
from tests.component.engine.test_jobs import CHAT, fire, move, service, settle, states
from tests.support.programs import as_text, call, program, say

ADD = {"tool": "cron", "input": {"action": "add", "job": {"every": "1h", "message": "look"}}}


def telegram(**more: Any) -> dict[str, Any]:
    return {"channels": {"telegram": {"enabled": True, "botToken": "1:x", **more}}}


def made(engine: EngineHarness, route: Route, *, sender_id: str = "", session: SessionKey = SESSION) -> Job:
    """A job that somebody asks an agent for."""
    engine.say(as_text(program(call(ADD), say("done"))), session, route=route, sender_id=sender_id)
    engine.work()
    (stored,) = service(engine).jobs()
    assert stored.job.authority is Authority.OWNER
    return stored.job


def test_a_job_of_a_former_owner_stops_and_says_so(make_engine: MakeEngine) -> None:
    engine = make_engine(telegram(owners=["42"]))
    job = made(engine, CHAT, sender_id="42")
    assert job.maker == "telegram:42"
    move(engine, job, 1)
    fire(engine, job)
    assert engine.work() == 1, "an owner's job fires"
    settle(engine)

    later = make_engine(telegram())
    before = len(later.stores.outbox.entries())
    move(later, job, 1)
    fire(later, job)
    fire(later, job)
    stored = service(later).get(job.id)
    assert stored.state.paused == WITHDRAWN
    assert not later.waker.turns
    assert states(later, job)[0] == "skipped"
    said = [entry.message for entry in later.stores.outbox.entries()][: len(later.stores.outbox.entries()) - before]
    assert [("no longer an owner" in each.text, each.route) for each in said] == [(True, CHAT)]

    adopted = service(later).resume(job.id)
    assert (adopted.job.maker, adopted.state.paused) == ("", "")
    move(later, adopted.job, 1)
    fire(later, adopted.job)
    assert later.waker.turns


def test_a_paired_owner_who_is_revoked(make_engine: MakeEngine) -> None:
    engine = make_engine(telegram())
    pairing_of(engine.stores).approve("telegram:42")
    job = made(engine, CHAT, sender_id="42")
    creators = engine.built.due_jobs._creators
    assert creators.may(job)
    pairing_of(engine.stores).revoke("telegram:42")
    assert not creators.may(job)


@pytest.mark.parametrize("channel", ["http", "web"])
def test_a_job_of_a_token_ends_with_it(make_engine: MakeEngine, channel: str) -> None:
    engine = make_engine()
    tokens = Tokens(engine.stores.redis, engine.stores.keys)
    token, _ = tokens.create(Scope.ADMIN)
    job = made(engine, Route(channel=channel, to=token.id))
    assert job.maker == f"token:{token.id}"
    creators = engine.built.due_jobs._creators
    assert creators.may(job)
    tokens.revoke(token.id)
    assert not creators.may(job)


def test_a_job_made_in_a_scheduled_turn_has_the_maker_of_that_job(make_engine: MakeEngine) -> None:
    engine = make_engine(telegram(owners=["42"]))
    job = made(engine, CHAT, sender_id="42")
    nested = {"message": as_text(program(call(ADD), say("done")))}
    service(engine).change(job.id, nested)
    changed = service(engine).get(job.id).job
    move(engine, changed, 1)
    fire(engine, changed)
    engine.work()
    assert {each.job.maker for each in service(engine).jobs()} == {"telegram:42"}
    assert len(service(engine).jobs()) == 2


def test_jobs_of_the_machine_itself_have_no_maker_to_withdraw(make_engine: MakeEngine) -> None:
    engine = make_engine()
    assert made(engine, Route(channel="cli")).maker == ""
