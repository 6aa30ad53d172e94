"""`ocw subagents` lists, messages and stops sub-agents of real workers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.domain.runs import Run
from openclaw_workers.domain.transcript import ToolResultEntry
from openclaw_workers.domain.tree import BatchState
from tests.support.faulty_workers import NO_SWEEP
from tests.support.fleet import Fleet, session_key
from tests.support.ocw import Gate, Ocw
from tests.support.programs import as_text, call, execute, program, say, spawn
from tests.support.waiting import eventually

LASTING = program(say("never said", delay_ms=60_000))


@pytest.fixture(scope="module")
def live_fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """A worker for each lane."""
    with Fleet(tmp_path_factory.mktemp("fleet")) as fleet:
        fleet.ready(*(fleet.worker(lane, concurrency=8, wait=False) for lane in ("main", "subagent", "service")))
        yield fleet


def children(fleet: Fleet, session: str) -> list[Run]:
    return fleet.stores.tree.children(session_key(session))


def running(fleet: Fleet, session: str, count: int) -> list[Run]:
    """Wait until `count` children of a session are running."""

    def found() -> list[Run] | None:
        runs = children(fleet, session)
        return runs if len(runs) == count and all(run.state == "running" for run in runs) else None

    return eventually(found, within=30)


def delivered(fleet: Fleet, run: Run) -> bool:
    batch = fleet.stores.tree.batch(run.batch) if run.batch else None
    return batch is not None and batch.state is BatchState.DELIVERED


def test_sub_agents_are_listed_in_spawn_order_across_batches(live_fleet: Fleet, ocw_cli: Ocw) -> None:
    names = [f"n{number}" for number in range(5)]
    modes = ["batch", "each", "none", "each", "batch"]
    wanted = [spawn(program(say("x")), label=each, announce=mode) for each, mode in zip(names, modes, strict=True)]
    together = call(*(each for step in wanted for each in step["calls"]))
    opened = live_fleet.send(program(together, say("spawned"), *[say("heard")] * 3), "ordered")
    live_fleet.outcome(opened)

    listed = ocw_cli("subagents", "list", "ordered", "--json").json["subagents"]
    (tree,) = ocw_cli("runs", "tree", str(opened.run), "--json").json["trees"]

    assert [each["label"] for each in listed] == names
    assert [each["label"] for each in tree["children"] if each["kind"] == "subagent"] == names


def test_a_sub_agent_whose_result_waits_for_siblings_is_listed_as_live(live_fleet: Fleet, ocw_cli: Ocw) -> None:
    gate = Gate(live_fleet, "siblings")
    quick, slow = (
        spawn(program(say("quick")), label="quick one"),
        spawn(program(gate.step, say("slow")), label="slow one"),
    )
    together = call(*quick["calls"], *slow["calls"])
    live_fleet.outcome(live_fleet.send(program(together, say("spawned"), say("heard")), "siblings"))
    first, second = children(live_fleet, "siblings")
    eventually(lambda: live_fleet.run(first.id).settled_at, within=30)

    listed = ocw_cli("subagents", "list", "siblings", "--live", "--json").json["subagents"]
    last = ocw_cli("subagents", "list", "siblings", "--live", "--limit", "1", "--json").json["subagents"]

    assert [(each["label"], each["state"] == "ok") for each in listed] == [("quick one", True), ("slow one", False)]
    assert [each["label"] for each in last] == ["slow one"]
    gate.open()
    eventually(lambda: delivered(live_fleet, second), within=30)
    assert ocw_cli("subagents", "list", "siblings", "--live").out == "no sub-agents\n"


def test_sub_agents_are_listed_with_the_delivery_of_their_results(live_fleet: Fleet, ocw_cli: Ocw) -> None:
    inner = program(spawn(program(say("leaf")), label="inner"), say("waiting"), say("outer done"))
    live_fleet.outcome(live_fleet.send(program(spawn(inner, label="outer"), say("spawned"), say("heard")), "listed"))
    (outer,) = children(live_fleet, "listed")
    eventually(lambda: delivered(live_fleet, outer), within=30)

    listed = ocw_cli("subagents", "list", "listed", "--json").json["subagents"]
    text = ocw_cli("subagents", "list", "listed").out
    everything = ocw_cli("subagents", "list", "--json").json["subagents"]

    assert [(each["label"], each["depth"], each["delivery"]["state"]) for each in listed] == [
        ("outer", 1, "delivered"),
        ("inner", 2, "delivered"),
    ]
    assert listed[1]["requesterSessionKey"] == listed[0]["childSessionKey"]
    assert f"#{listed[0]['number']}" in text, "a nested sub-agent does not name its parent"
    assert {each["runId"] for each in listed} <= {each["runId"] for each in everything}
    assert ocw_cli("subagents", "list", "listed", "--live").out == "no sub-agents\n"


def test_info_finds_the_record_by_number_label_run_or_session(live_fleet: Fleet, ocw_cli: Ocw) -> None:
    live_fleet.outcome(
        live_fleet.send(
            program(spawn(program(say("found it")), label="a look", metadata={"for": "ann"}), say("ok"), say("heard")),
            "informed",
        )
    )
    (child,) = children(live_fleet, "informed")
    eventually(lambda: delivered(live_fleet, child), within=30)

    record = ocw_cli("subagents", "info", "A LOOK", "--json").json

    assert (record["runId"], record["childSessionKey"]) == (child.id, child.session_key)
    assert record["requesterSessionKey"] == record["controllerSessionKey"] == session_key("informed")
    assert (record["outcome"], record["endedReason"], record["frozenResultText"]) == ("ok", "complete", "found it")
    assert record["createdAt"] <= record["startedAt"] <= record["endedAt"] <= record["settledAt"]
    assert (record["cleanup"], record["spawnMode"], record["deliver"]) == ("keep", "run", False)
    assert (record["runKind"], record["lane"], record["wakeOnDescendantSettle"]) == ("subagent", "subagent", True)
    assert record["parentRunId"] == child.parent_run_id
    assert record["metadata"] == {"for": "ann"}
    assert record["attempts"][0]["how"] == "taken"
    assert record["delivery"] | {"state": "delivered", "tries": 0, "lastError": None} == record["delivery"]
    short = child.session_key.rpartition(":")[2][:8]
    for name in (
        f"#{record['number']}",
        child.session_key,
        "last",
        f"agent:main:subagent:{short}",
        short,
        child.id[4:12],
    ):
        assert ocw_cli("subagents", "info", name, "--json").json["runId"] == child.id
    for name in (f"agent:main:subagent:{short}", f"subagent:{short[:6]}"):
        assert ocw_cli("sessions", "show", name, "--json").json["sessionKey"] == child.session_key
    text = ocw_cli("subagents", "info", child.id).out
    assert f"delivered to {session_key('informed')}" in text
    assert "found it" in text


def test_an_unknown_or_ambiguous_name_is_refused_with_a_hint(live_fleet: Fleet, ocw_cli: Ocw) -> None:
    twins = spawn(program(say("one")), program(say("two")), label="twin")
    live_fleet.outcome(live_fleet.send(program(twins, say("ok"), say("heard")), "twins"))

    several = ocw_cli("subagents", "info", "twin")
    none = ocw_cli("subagents", "info", "twim")

    assert (several.code, none.code) == (2, 5)
    assert "several sub-agents are called 'twin': #" in several.err
    assert "did you mean 'twin'?" in none.err
    run = live_fleet.send(program(say("hi")), "nobodys").run
    assert ocw_cli("subagents", "info", str(run)).code == 2


def test_a_message_to_a_settled_sub_agent_starts_a_new_run_whose_result_the_parent_gets(
    live_fleet: Fleet, ocw_cli: Ocw
) -> None:
    live_fleet.outcome(
        live_fleet.send(program(spawn(program(say("first")), label="asked"), say("ok"), say("a"), say("b")), "follow")
    )
    (child,) = children(live_fleet, "follow")
    eventually(lambda: delivered(live_fleet, child), within=30)

    sent = ocw_cli("subagents", "send", "asked", json.dumps(program(say("second"))))
    assert "had ended and continues as run-" in sent.out
    eventually(lambda: len(children(live_fleet, "follow")) == 2, within=30)
    eventually(lambda: delivered(live_fleet, children(live_fleet, "follow")[1]), within=30)
    waited = ocw_cli("subagents", "send", "asked", "-", "--wait", "--json", stdin=json.dumps(program(say("third"))))

    assert (waited.json["status"], waited.json["text"]) == ("ok", "third")
    assert waited.json["runId"] in [run.id for run in children(live_fleet, "follow")]
    log = ocw_cli("subagents", "log", "asked").out
    assert [word for word in ("first", "second", "third") if f"assistant: {word}" in log] == [
        "first",
        "second",
        "third",
    ]
    assert len(ocw_cli("subagents", "log", "asked", "--limit", "1", "--json").json) == 1


def test_steering_joins_the_running_turn_and_a_message_waits_for_its_end(live_fleet: Fleet, ocw_cli: Ocw) -> None:
    gate = Gate(live_fleet, "steered")
    busy = program(gate.step, call(execute("true")), say("first answer"))
    live_fleet.send(program(spawn(busy, label="steered"), say("ok"), say("heard")), "steering")
    (child,) = running(live_fleet, "steering", 1)

    later = ocw_cli("subagents", "send", "steered", json.dumps(program(say("second answer"))))
    joined = ocw_cli("subagents", "steer", "steered", "and hurry")
    gate.open()
    eventually(lambda: children(live_fleet, "steering")[0].state == "ok", within=30)

    assert "answers it after its current turn" in later.out
    assert "reads it before its next model call" in joined.out
    said = [
        entry.content[0].text if entry.role == "user" else entry.text
        for entry in live_fleet.stores.reader.transcript(child.session_key)
        if entry.role in ("user", "assistant")
    ]
    assert said.index("and hurry") < said.index("first answer") < said.index("second answer")
    (run,) = children(live_fleet, "steering")
    assert run.text == "second answer", "not one result of one run"


def test_stop_ends_the_subtree_and_the_parent_gets_the_outcome(live_fleet: Fleet, ocw_cli: Ocw) -> None:
    inner = program(spawn(LASTING, LASTING, label="leaf"), say("waiting"), say("never"))
    live_fleet.send(program(spawn(inner, label="middle"), say("ok"), say("heard")), "stopping")
    (middle,) = eventually(lambda: children(live_fleet, "stopping"), within=30)
    running(live_fleet, middle.session_key, 2)

    done = ocw_cli("subagents", "stop", "middle", "--wait", "--json")
    late = ocw_cli("subagents", "stop", "middle")

    assert done.code == 0
    assert set(done.json["runs"].values()) == {"killed"}
    assert len(done.json["runs"]) == 3
    assert late.code == 6
    assert "had already ended (killed)" in late.err
    eventually(lambda: delivered(live_fleet, middle), within=30)


def test_a_blocked_announce_is_shown_and_delivered_when_it_is_retried(live_fleet: Fleet, ocw_cli: Ocw) -> None:
    gate = Gate(live_fleet, "blocked")
    live_fleet.outcome(
        live_fleet.send(
            program(spawn(program(gate.step, say("late")), label="late"), say("ok"), say("heard")), "blocked"
        )
    )
    (child,) = running(live_fleet, "blocked", 1)
    assert child.batch is not None
    # Given a parent whose inbox cannot take the result, and no retries left
    inbox = live_fleet.stores.keys.inbox(session_key("blocked"))
    live_fleet.stores.redis.set(inbox, "broken")
    live_fleet.stores.redis.hset(live_fleet.stores.keys.batch(child.batch), "tries", 9)
    gate.open()
    eventually(lambda: _state(live_fleet, child) is BatchState.BLOCKED, within=30)

    listed = ocw_cli("subagents", "list", "blocked", "--live").out
    info = ocw_cli("subagents", "info", "late").out
    status = ocw_cli("status")
    counted = ocw_cli("status", "--json").json["totals"]
    assert "blocked" in listed
    assert f"`ocw subagents retry {child.batch}`" in info
    (line,) = (line for line in status.out.splitlines() if line.startswith(f"blocked: {child.batch} for "))
    assert "WRONGTYPE" in line
    assert (counted["pendingAnnounces"], counted["blockedAnnounces"]) == (0, 1)

    live_fleet.stores.redis.delete(inbox)
    assert ocw_cli("subagents", "retry", "late").code == 0
    eventually(lambda: delivered(live_fleet, child), within=30)
    assert ocw_cli("subagents", "retry", str(child.batch)).code == 6
    assert ocw_cli("subagents", "retry", "batch-none").code == 5


def test_an_announce_that_is_not_delivered_yet_is_pending(tmp_path: Path) -> None:
    with Fleet(tmp_path, NO_SWEEP) as fleet:
        # Given no worker for the lane that announces results
        fleet.ready(*(fleet.worker(lane, wait=False) for lane in ("main", "subagent")))
        fleet.outcome(fleet.send(program(spawn(program(say("done")), label="waits"), say("ok"), say("heard"))))
        (child,) = children(fleet, "main")
        eventually(lambda: _state(fleet, child) is BatchState.SETTLED, within=30)

        ocw = Ocw(fleet)
        for words in (("subagents", "list", "main", "--live"), ("runs", "tree", "main")):
            (line,) = (line for line in ocw(*words).out.splitlines() if child.id[:12] in line)
            assert "pending" in line.split(), words
        assert "1 announces pending, 0 blocked" in ocw("status").out


def test_a_sub_agent_removed_after_its_announce_is_still_on_record(live_fleet: Fleet, ocw_cli: Ocw) -> None:
    live_fleet.outcome(
        live_fleet.send(
            program(spawn(program(say("gone")), label="removed", cleanup="delete"), say("ok"), say("heard")), "removing"
        )
    )
    (child,) = children(live_fleet, "removing")
    eventually(lambda: live_fleet.stores.reader.session(SessionKey(child.session_key)) is None, within=30)

    assert ocw_cli("subagents", "info", "removed", "--json").json["frozenResultText"] == "gone"
    assert ocw_cli("subagents", "log", "removed").code == 5
    assert ocw_cli("subagents", "send", "removed", "are you there?").code == 5
    assert live_fleet.stores.reader.session(SessionKey(child.session_key)) is None, "the lookup created a session"


def _state(fleet: Fleet, run: Run) -> BatchState | None:
    batch = fleet.stores.tree.batch(run.batch) if run.batch else None
    return batch.state if batch else None


def test_files_for_a_sub_agent_go_to_its_workspace(live_fleet: Fleet, ocw_cli: Ocw, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("for the child")
    task = program(say("at work"))
    live_fleet.outcome(
        live_fleet.send(program(spawn(task, workspaceDir="part"), say("waiting"), say("heard")), "files")
    )
    (child,) = children(live_fleet, "files")
    eventually(lambda: delivered(live_fleet, child), within=30)

    look = {"tool": "exec", "input": {"command": "cat .openclaw/inbox/m-2-*/1-notes.txt"}}
    given = ["--session", child.session_key, "--message-id", "m-2", "--file", str(tmp_path / "notes.txt")]
    done = ocw_cli("agent", "-m", as_text(program(call(look), say("seen"))), *given)

    assert (done.code, done.out) == (0, "seen\n")
    result = live_fleet.stores.reader.transcript(child.session_key)[-2]
    assert isinstance(result, ToolResultEntry)
    assert "for the child" in result.content[0].text
    assert list(live_fleet.workspace.glob("part/.openclaw/inbox/m-2-*/1-notes.txt"))
