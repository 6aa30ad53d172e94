"""Where the answers of jobs go: webhooks, the chat in which a job was made, and models that answer instead."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import redis

from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.domain.messages import InboxEntry
from openclaw_workers.domain.outgoing import WEBHOOK
from openclaw_workers.errors import BadInput, ConfigurationError
from openclaw_workers.store.keys import JOB
from tests.component.engine.conftest import SESSION, EngineHarness, MakeEngine
from tests.component.engine.test_jobs import CHAT, TELEGRAM, add, fire, move, service, settle
from tests.support.moved_time import MovedTime

DAY_MS = 86_400_000
ADDRESS = "https://example.com/hooks/jobs"
WEBHOOKS = {"cron": {"webhooks": {"allow": ["https://example.com/hooks"]}}}
DM = SessionKey("agent:main:telegram:dm:ann")


@pytest.mark.parametrize("target", ["main", "isolated"])
def test_an_answer_goes_to_the_webhook_as_json_once(make_engine: MakeEngine, target: str) -> None:
    engine = make_engine({**WEBHOOKS, **TELEGRAM})
    engine.say("hello", route=CHAT)
    engine.work()
    before = {entry.message.id for entry in engine.stores.outbox.entries()}
    job = add(engine, every="1h", session_target=target, delivery="webhook", to=ADDRESS)
    time = move(engine, job, 1)
    fire(engine, job)
    engine.work()
    for _ in range(3):
        settle(engine)

    (message,) = (each.message for each in engine.stores.outbox.entries() if each.message.id not in before)
    assert (message.route.channel, message.route.to) == (WEBHOOK, ADDRESS)
    body = json.loads(message.text)
    assert (body["jobId"], body["state"], body["error"]) == (job.id, "ok", None)
    assert body["text"]
    assert message.id == f"out-cron-{job.id}-{time}"


def test_only_allowed_addresses_are_webhooks(make_engine: MakeEngine) -> None:
    engine = make_engine(WEBHOOKS)
    with pytest.raises(BadInput, match="not allowed"):
        add(engine, every="1h", delivery="webhook", to="https://elsewhere.example.com/hooks")
    with pytest.raises(BadInput, match="address in `to`"):
        add(engine, every="1h", delivery="webhook", to=ADDRESS, channel="telegram")
    declared = {"cron": {"jobs": {"x": {"every": "1h", "message": "x", "delivery": "webhook", "to": ADDRESS}}}}
    with pytest.raises(ConfigurationError, match="x"):
        make_engine(declared)

    job = add(engine, every="1h", session_target="main", delivery="webhook", to=ADDRESS)
    closed = make_engine()  # the configuration was changed since
    move(closed, job, 1)
    fire(closed, job)
    closed.work()
    settle(closed)
    assert not closed.stores.outbox.entries()


def test_a_reminder_finds_its_chat_although_the_session_is_gone_by_then(make_engine: MakeEngine) -> None:
    engine = make_engine(TELEGRAM)
    engine.say("hello", DM, route=CHAT)
    engine.work()
    job = add(engine, at="45d", current=DM)
    assert (job.channel, job.to, job.account_id) == ("telegram", "42", "default")
    engine.control.delete(DM)
    before = len(engine.stores.outbox.entries())
    move(engine, job, 1)
    fire(engine, job)
    engine.work()
    assert len(engine.stores.outbox.entries()) == before + 1

    in_main = add(engine, at="45d", current=SESSION)
    assert not in_main.channel, "the main session stays, and may be spoken to elsewhere by then"


def test_a_jobs_turn_has_its_own_fallbacks_and_tools_in_prompt_and_calls(make_engine: MakeEngine) -> None:
    engine = make_engine()
    job = add(
        engine,
        at="1h",
        session_target="main",
        model="offline/demo",
        fallbacks=("offline/script",),
        tools_allow=("read_file", "ls"),
        light_context=True,
    )
    (_workspace(engine)).mkdir(parents=True, exist_ok=True)
    for name in ("AGENTS.md", "HEARTBEAT.md"):
        (_workspace(engine) / name).write_text("be brief")
    move(engine, job, 1)
    fire(engine, job)
    taken = engine.take()
    prepared = engine.built.preparer.prepare(taken, [InboxEntry.model_validate_json(taken.bound[0])])

    assert (prepared.agent.primary, prepared.agent.fallbacks) == ("offline/demo", ("offline/script",))
    assert set(prepared.setup.tools) == {"read", "ls"}
    assert {spec.name for spec in prepared.setup.specs} == {"read", "ls"}
    assert "- ls:" in prepared.setup.whole_system
    assert "- exec:" not in prepared.setup.whole_system
    assert "be brief" not in prepared.setup.whole_system
    with pytest.raises(BadInput, match="nosuch"):
        add(engine, at="1h", fallbacks=("offline/nosuch",))
    assert service(engine).get(job.id).job.fallbacks == ("offline/script",)


def _workspace(engine: EngineHarness) -> Path:
    return engine.loaded.state_dir / "workspace"


def test_a_reminder_that_was_missed_for_too_long_is_gone_and_its_chat_is_notified(make_engine: MakeEngine) -> None:
    engine = make_engine(TELEGRAM)
    engine.say("hello", route=CHAT)
    engine.work()
    before = len(engine.stores.outbox.entries())
    job = add(engine, at="1h", session_target="main", name="stretch")
    move(engine, job, 25 * 3600)
    fire(engine, job)

    assert engine.stores.schedules.get(job.id) is None
    assert [entry.state for entry in engine.stores.schedules.log(job.id)] == ["missed"]
    entries = engine.stores.outbox.entries()
    assert len(entries) == before + 1
    assert "stretch did not run" in entries[0].message.text


def test_a_job_that_failed_and_has_no_further_time_is_removed_after_a_month(
    redis_client: redis.Redis, make_engine: MakeEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved = MovedTime(redis_client, tmp_path / "clock", monkeypatch)
    engine = make_engine()
    job = add(engine, at="1h", session_target="main")
    time = move(engine, job, 1)
    fire(engine, job)
    assert engine.stores.schedules.settle(job.id, time, state="error", reason="x") == "paused"
    at = engine.stores.redis.zscore(engine.stores.keys.due, f"{JOB}{job.id}")
    assert at is not None
    assert at > engine.stores.due.now_ms() + 29 * DAY_MS
    moved.advance(31 * DAY_MS // 1000)
    fire(engine, job)
    assert engine.stores.schedules.get(job.id) is None
