"""`ocw runs`: list, inspect, watch and stop."""

from __future__ import annotations

import json
import select
import time

from tests.support.fleet import Fleet, session_key
from tests.support.ocw import Ocw, finish
from tests.support.programs import call, execute, program, say
from tests.support.waiting import eventually

TEXT = "one two three four five six"
SLOWLY = {"text": TEXT, "chunks": 6, "chunkDelayMs": 500}


def test_runs_are_listed_newest_first_and_filtered(live_fleet: Fleet, ocw_cli: Ocw) -> None:
    well = live_fleet.outcome(live_fleet.send(program(say("well")), "runs")).receipt.run
    badly = live_fleet.outcome(live_fleet.send(program({"fail": "billing"}), "runs")).receipt.run

    listed = ocw_cli("runs", "list", "--session", "runs", "--json").json["runs"]
    failed = ocw_cli("runs", "list", "--session", "runs", "--state", "error", "--json").json["runs"]
    text = ocw_cli("runs", "list", "--session", "runs", "--limit", "1")

    assert [run["runId"] for run in listed] == [badly, well]
    assert [run["runId"] for run in failed] == [badly]
    assert str(badly)[:12] in text.out
    assert "error (billing)" in text.out
    assert str(well)[:12] not in text.out


def test_a_run_is_found_by_the_beginning_of_its_id_and_as_the_last_one(live_fleet: Fleet, ocw_cli: Ocw) -> None:
    run = str(live_fleet.outcome(live_fleet.send(program(say("found")), "found")).receipt.run)
    for wanted in (run[:12], run.removeprefix("run-")[:8], "last"):
        assert ocw_cli("runs", "show", wanted, "--json").json["runId"] == run
    for wanted in ("run-", run[:6]):
        refused = ocw_cli("runs", "show", wanted)
        assert (refused.code, "begin so; write at least 3 characters after run-" in refused.err) == (5, True)


def test_show_lists_the_owners_and_tool_calls_of_a_run(live_fleet: Fleet, ocw_cli: Ocw) -> None:
    queued = live_fleet.send(program(call(execute("echo out")), say("Seen.")), "journal")
    run = live_fleet.outcome(queued).receipt.run
    live_fleet.outcome(live_fleet.send(program(say("another run")), "journal"))

    shown = ocw_cli("runs", "show", str(run), "--json").json
    text = ocw_cli("runs", "show", str(run)).out

    assert (shown["state"], shown["covers"], shown["text"]) == ("ok", [queued.message_id], "Seen.")
    assert shown["attempts"][0]["how"] == "taken"
    assert [entry["role"] for entry in shown["journal"]] == ["user", "assistant", "toolResult", "assistant"]
    assert f"pid {live_fleet.workers[0].pid}" in text
    assert "assistant calls exec" in text
    assert "another run" not in text


def test_watch_shows_a_run_from_its_beginning_to_its_end(live_fleet: Fleet, ocw_cli: Ocw) -> None:
    run = live_fleet.send(program(SLOWLY), "watched").run
    eventually(lambda: live_fleet.events("watched", "text.delta"), within=20)

    watched = ocw_cli("runs", "watch", str(run))
    again = ocw_cli("runs", "watch", str(run), "--json").json

    assert (watched.code, watched.out) == (0, TEXT + "\n")
    assert (again["status"], again["text"]) == ("ok", TEXT)


def test_watching_all_prints_each_change_once(live_fleet: Fleet, ocw_cli: Ocw) -> None:
    process = ocw_cli.start("runs", "watch", "--json")
    out = process.stdout
    assert out is not None

    def is_watching() -> bool:
        live_fleet.send(program(say("x")), "waking")
        return bool(select.select([out], [], [], 0.5)[0])

    eventually(is_watching, within=60)
    run = live_fleet.send(program(SLOWLY), "changes").run

    seen: list[str] = []
    while not seen or seen[-1] != "ok":
        facts = json.loads(out.readline())
        if facts["runId"] == run:
            seen.append(facts["state"])
    process.terminate()
    finish(process)

    assert seen[-2:] == ["running", "ok"]


def test_stop_ends_a_run_and_a_second_stop_is_too_late(live_fleet: Fleet, ocw_cli: Ocw) -> None:
    run = live_fleet.send(program(say("never said", delay_ms=60_000)), "stopped").run
    following = live_fleet.send(program(say("next")), "stopped")
    eventually(lambda: live_fleet.stores.reader.control(session_key("stopped")).state == "running", within=20)

    typed_ms = time.time() * 1000
    done = ocw_cli("runs", "stop", str(run), "--wait", "--json")
    late = ocw_cli("runs", "stop", str(run))

    assert (done.code, done.json["state"]) == (0, "killed")
    stopped = live_fleet.run(run)
    assert stopped.state == "killed"
    assert stopped.ended_at is not None
    assert stopped.ended_at - typed_ms < 2_000
    assert late.code == 6
    assert "had already ended (killed)" in late.err
    assert live_fleet.outcome(following).text == "next"


def test_ocw_agent_reports_that_its_run_was_stopped(live_fleet: Fleet, ocw_cli: Ocw) -> None:
    process = ocw_cli.start("agent", "--session", "halted", "-m", json.dumps(program(say("never", delay_ms=60_000))))
    eventually(lambda: live_fleet.stores.reader.control(session_key("halted")).state == "running", within=20)
    run = live_fleet.stores.reader.control(session_key("halted")).run

    assert ocw_cli("runs", "stop", run).code == 0
    done = finish(process)

    assert done.code == 1
    assert "the turn was stopped" in done.err
