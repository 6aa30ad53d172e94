"""`ocw runs tree`, `ocw sessions tree`, and waiting for a tree, with real workers."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from openclaw_workers.domain.runs import Run
from tests.support.fleet import Fleet, session_key
from tests.support.ocw import Gate, Ocw, finish
from tests.support.programs import Program, call, execute, program, say, spawn
from tests.support.terminal import Terminal
from tests.support.waiting import eventually


@pytest.fixture(scope="module")
def live_fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """A worker for each lane."""
    with Fleet(tmp_path_factory.mktemp("fleet")) as fleet:
        fleet.ready(*(fleet.worker(lane, concurrency=8, wait=False) for lane in ("main", "subagent", "service")))
        yield fleet


def children(fleet: Fleet, session: str) -> list[Run]:
    return fleet.stores.tree.children(session_key(session))


def names(node: dict[str, Any]) -> list[Any]:
    return [node["label"] or node["kind"], *(names(child) for child in node["children"])]


def nested(gate: Gate) -> Program:
    """A child whose own child ends when the gate opens."""
    inner = program(spawn(program(gate.step, say("leaf")), label="leaf"), say("waiting"), say("middle done"))
    return program(spawn(inner, label="middle"), say("spawned"), say("all heard"))


def late(text: str) -> Program:
    """A child that is slow enough not to report in the turn that spawned it."""
    return program(say(text, delay_ms=700))


def test_the_tree_shows_every_level_while_it_runs_and_then_the_reply(live_fleet: Fleet, ocw_cli: Ocw) -> None:
    gate = Gate(live_fleet, "levels")
    live_fleet.outcome(live_fleet.send(nested(gate), "levels"))
    (middle,) = eventually(lambda: children(live_fleet, "levels"), within=30)
    eventually(lambda: live_fleet.run(middle.id).state == "parked", within=30)
    eventually(lambda: [run.state for run in children(live_fleet, middle.session_key)] == ["running"], within=30)

    live = ocw_cli("runs", "tree").out
    watching = ocw_cli.start("runs", "tree", "levels", "--watch", "--json")
    assert watching.stdout is not None
    first = json.loads(watching.stdout.readline())["trees"]
    gate.open()
    watched = finish(watching)

    rows = {line.split("  ")[0].strip() if "leaf" not in line else "leaf": line for line in live.splitlines()}
    assert "running" in rows["leaf"]
    assert "parked" in rows["└─ middle"]
    assert f"{live_fleet.workers[1].pid}" in rows["leaf"], "the process is not shown"
    assert [names(top) for top in first] == [["main", ["middle", ["leaf"]]]]
    assert watched.code == 0, "watching a named tree did not end with it"
    (last,) = json.loads(watched.out.splitlines()[-1])["trees"]
    assert last["settled"]
    assert names(last) == ["main", ["middle", ["leaf"]], ["reply"]]
    (part,) = ocw_cli("runs", "tree", middle.id, "--json").json["trees"]
    assert names(part) == ["middle", ["leaf"]]
    assert (part["state"], part["delivery"], part["lane"], part["cost"]) == ("ok", "delivered", "subagent", 0.0)


def test_sessions_are_below_the_sessions_that_spawned_them(live_fleet: Fleet, ocw_cli: Ocw) -> None:
    gate = Gate(live_fleet, "sessions")
    gate.open()
    live_fleet.outcome(live_fleet.send(nested(gate), "planted"))
    (middle,) = children(live_fleet, "planted")
    eventually(lambda: children(live_fleet, middle.session_key), within=30)

    (top,) = ocw_cli("sessions", "tree", "planted", "--json").json["sessions"]
    text = ocw_cli("sessions", "tree", "planted").out

    (child,) = top["children"]
    assert (child["label"], child["spawnedBy"], child["spawnDepth"]) == ("middle", session_key("planted"), 1)
    assert [each["subagentRole"] for each in child["children"]] == ["leaf"]
    assert "└─ middle" in text
    assert "   └─ leaf" in text


def test_show_has_the_tree_details_of_a_failed_child(live_fleet: Fleet, ocw_cli: Ocw) -> None:
    failing = program({"text": "half of it", "fail": "billing"})
    parent = live_fleet.outcome(
        live_fleet.send(program(spawn(failing, label="failing"), say("ok"), say("heard")), "failed")
    )
    (child,) = children(live_fleet, "failed")
    eventually(lambda: live_fleet.run(child.id).settled_at, within=30)

    shown = ocw_cli("runs", "show", child.id, "--json").json
    text = ocw_cli("runs", "show", child.id).out
    above = ocw_cli("runs", "show", str(parent.receipt.run)).out

    assert (shown["state"], shown["label"], shown["parentRunId"]) == ("error", "failing", parent.receipt.run)
    assert shown["delivery"]["batch"] == child.batch
    assert shown["journal"][0]["role"] == "user"
    assert f"spawned by  {parent.receipt.run} in {session_key('failed')}" in text
    assert "outcome     error" in text
    assert f"child 1  {child.id} 'failing', error" in above


def test_waiting_for_a_tree_prints_later_replies(live_fleet: Fleet, ocw_cli: Ocw) -> None:
    task = json.dumps(program(spawn(late("x"), late("y"), label="both"), say("spawned"), say("heard")))

    done = ocw_cli("agent", "--session", "waiting", "--wait", "tree", "-m", task)
    json_done = ocw_cli("agent", "--session", "waiting-json", "--wait", "tree", "--json", "-m", task)

    assert (done.code, done.out) == (0, "spawned\nheard\n")
    assert "sub-agents reported: both ok, both ok" in done.err
    assert (json_done.code, json_done.json["text"], json_done.json["settled"]) == (0, "spawned", True)
    assert [(reply["status"], reply["text"]) for reply in json_done.json["replies"]] == [("ok", "heard")]
    assert [each["outcome"] for each in json_done.json["subagents"]] == ["ok", "ok"]


def test_a_reply_that_spawns_again_is_part_of_the_tree(live_fleet: Fleet, ocw_cli: Ocw) -> None:
    again = program(spawn(late("x")), say("first"), spawn(late("y")), say("second"), say("third"))
    done = ocw_cli("agent", "--session", "again", "--wait", "tree", "-m", json.dumps(again))
    assert (done.code, done.out) == (0, "first\nsecond\nthird\n")


def test_with_json_it_waits_only_for_the_turn(live_fleet: Fleet, ocw_cli: Ocw) -> None:
    gate = Gate(live_fleet, "turn")
    task = program(spawn(program(gate.step, say("x")), label="slow"), say("spawned"), say("heard"))
    done = ocw_cli("agent", "--session", "turn", "-m", json.dumps(task), "--json")
    gate.open()
    assert (done.code, done.json["text"]) == (0, "spawned")
    assert ocw_cli("agent", "--session", "turn", "-m", "hi", "--wait", "turn", "--no-wait").code == 2


def test_after_ctrl_c_and_timeout_the_sub_agents_continue(live_fleet: Fleet, ocw_cli: Ocw) -> None:
    gate = Gate(live_fleet, "left")
    task = json.dumps(program(spawn(program(gate.step, say("x")), label="left"), say("spawned"), say("heard")))

    late = ocw_cli("agent", "--session", "late", "--wait", "tree", "--timeout", "8", "--json", "-m", task)
    process = ocw_cli.start("agent", "--session", "left", "--wait", "tree", "-m", task)
    assert process.stderr is not None
    while "active; " not in (line := process.stderr.readline()):
        assert line, "it ended without waiting"
    process.send_signal(signal.SIGINT)
    left = finish(process)

    assert (late.code, late.json["error"]["type"], late.json["settled"]) == (124, "WaitOver", False)
    assert late.json["text"] == "spawned"
    assert left.code == 130
    assert "ocw runs tree agent:main:left --watch" in left.err
    for session in ("late", "left"):
        assert [run.state for run in children(live_fleet, session)] == ["running"]
    gate.open()
    eventually(lambda: children(live_fleet, "left")[0].state == "ok", within=30)


def test_in_a_terminal_it_waits_for_the_tree_and_chat_shows_later_replies(live_fleet: Fleet, ocw_cli: Ocw) -> None:
    def task(word: str) -> str:
        return json.dumps(program(spawn(late("x"), label=word), say(f"{word} spawned"), say(f"{word} heard")))

    code, shown = in_terminal(ocw_cli, "agent", "--session", "tty", "-m", task("one"))
    chat = ocw_cli("chat", "--session", "piped", stdin=task("two") + "\n")

    assert code == 0
    assert "sub-agent started: one" in shown
    assert shown.rstrip().endswith("one heard")
    assert (chat.code, chat.out) == (0, "two spawned\ntwo heard\n")


def test_a_message_in_a_thread_goes_to_the_sub_agent_bound_to_it(live_fleet: Fleet, ocw_cli: Ocw) -> None:
    stays = spawn(program(say("I stay")), label="stays", mode="session", thread=True)
    task = json.dumps(program(stays, say("spawned"), say("heard")))
    assert ocw_cli("agent", "--session", "threads", "-m", task).code == 0
    (child,) = children(live_fleet, "threads")
    eventually(lambda: live_fleet.run(child.id).settled_at, within=30)
    thread = ocw_cli("subagents", "info", "stays", "--json").json["threadId"]

    said = ocw_cli("agent", "--thread", thread, "-m", json.dumps(program(say("in my thread"))), "--json").json
    nobody = ocw_cli("agent", "--thread", "another", "-m", "hi")

    assert (said["sessionKey"], said["text"]) == (child.session_key, "in my thread")
    assert nobody.code == 5


def test_a_chat_shows_later_replies_and_accepts_messages_meanwhile(live_fleet: Fleet, ocw_cli: Ocw) -> None:
    gate = Gate(live_fleet, "chat")
    asked = json.dumps(program(spawn(program(gate.step, say("x")), label="slow"), say("spawned"), say("heard it")))

    with Terminal(ocw_cli, "chat", "--session", "talk") as terminal:
        terminal.shows("\n>")
        terminal.type(f"{asked}\r")
        terminal.shows("1 sub-agent active: slow")
        terminal.type("\x03")
        terminal.shows("/stop stops the sub-agents")
        terminal.type("/queue\r")
        terminal.shows("Queue mode")
        gate.open()
        terminal.shows("sub-agent reported: slow ok")
        terminal.shows("\nheard it\n")
        eventually(lambda: "1 sub-agent active" not in terminal.drawn, within=30)
        terminal.type("\x04")

        assert terminal.wait() == 0


def in_terminal(ocw: Ocw, *words: str) -> tuple[int, str]:
    """Run a command in a pseudo-terminal; returns its exit code and its output."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(ocw.argv(*words), env=ocw.env, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    shown = ""
    overdue = threading.Timer(60, process.kill)
    overdue.start()
    with suppress(OSError):  # the other end closes
        while piece := os.read(ours, 65536):
            shown += piece.decode(errors="replace").replace("\r\n", "\n")
    overdue.cancel()
    os.close(ours)
    return process.wait(60), shown


def test_stopping_an_ended_run_stops_only_its_sub_agents(live_fleet: Fleet, ocw_cli: Ocw) -> None:
    gate = Gate(live_fleet, "turns")
    asked = program(spawn(program(gate.step, say("x"))), say("spawned"), say("heard"))
    first, second = (live_fleet.outcome(live_fleet.send(asked, "turns")).run for _ in range(2))
    assert first
    assert second
    eventually(lambda: [run.state for run in children(live_fleet, "turns")] == ["running"] * 2, within=20)

    done = ocw_cli("runs", "stop", second.id, "--wait")
    late = ocw_cli("runs", "stop", second.id)

    assert (done.code, done.out) == (0, f"{second.id} had ended; 1 sub-agent is stopped\n")
    assert late.code == 6
    assert [run.state for run in children(live_fleet, "turns")] == ["running", "killed"]
    gate.open()
    eventually(lambda: [run.state for run in children(live_fleet, "turns")] == ["ok", "killed"], within=20)
    assert first.id == children(live_fleet, "turns")[0].parent_run_id


def test_a_failed_sub_agent_that_was_cleaned_up_is_shown_from_its_archive(live_fleet: Fleet, ocw_cli: Ocw) -> None:
    # Given a child that failed, was announced, archived and deleted
    child = program(call(execute("echo out"), text="I look."), {"fail": "auth"})
    asked = program(spawn(child, cleanup="delete"), say("spawned"), say("heard"))
    live_fleet.outcome(live_fleet.send(asked, "cleaned"))
    run = eventually(lambda: next(iter(children(live_fleet, "cleaned")), None), within=20)
    eventually(lambda: live_fleet.stores.reader.session(run.session_key) is None, within=30)
    archive = live_fleet.state_dir / "agents" / "main" / "sessions" / f"{live_fleet.run(run.id).session_id}.jsonl"
    eventually(archive.exists, within=30)

    shown = ocw_cli("runs", "show", run.id, "--json").json
    text = ocw_cli("runs", "show", run.id).out

    assert shown["sessionState"] == "deleted"
    assert [entry["role"] for entry in shown["journal"]] == ["user", "assistant", "toolResult", "notice"]
    assert "journal (its session was deleted; this is from its archive)" in text
    assert "assistant calls exec" in text

    # And without the archive the record still says how it ended
    archive.unlink()
    text = ocw_cli("runs", "show", run.id).out
    assert "no journal: its session was deleted, and no host has its archive" in text
    assert "was reset" not in text
    assert "I look." in text
