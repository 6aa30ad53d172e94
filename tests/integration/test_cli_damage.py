"""A damaged record hides no other, is reported, and can be removed."""

from __future__ import annotations

from pathlib import Path

from tests.support.fleet import Fleet, session_key
from tests.support.ocw import Done, Ocw
from tests.support.programs import program, say


def corrupt(fleet: Fleet, key: str) -> None:
    """Replace the key with a string, which no command expects there."""
    fleet.stores.redis.delete(key)
    fleet.stores.redis.set(key, "junk")


def corrupted_row(fleet: Fleet, name: str) -> str:
    """A session with a transcript whose row cannot be read."""
    fleet.outcome(fleet.send(program(say("before")), name))
    fleet.stores.redis.hset(fleet.stores.keys.row(session_key(name)), "sessionStartedAt", "never")
    return session_key(name)


def keys_in(done: Done) -> list[str]:
    return [session["sessionKey"] for session in done.json["sessions"]]


def test_a_row_that_cannot_be_read_hides_no_other_session(live_fleet: Fleet, ocw_cli: Ocw, tmp_path: Path) -> None:
    live_fleet.outcome(live_fleet.send(program(say("whole")), "whole"))
    corrupted = corrupted_row(live_fleet, "corrupted-row")

    listed = ocw_cli("sessions", "list", "--json")
    text = ocw_cli("sessions", "list")
    tree = ocw_cli("sessions", "tree", "--json")
    exported = ocw_cli("sessions", "export", "--out", str(tmp_path), "--json")

    for done in (listed, tree):
        assert done.code == 0
        assert session_key("whole") in keys_in(done)
        assert corrupted not in keys_in(done)
        assert done.json["unreadable"] == 1
    assert session_key("whole") in text.out
    for done in (listed, text, tree, exported):
        assert "1 damaged record was left out and quarantined" in done.err
    assert (exported.code, exported.json["unreadable"]) == (0, 1)
    assert ocw_cli("sessions", "delete", corrupted, "--yes").code == 0
    assert ocw_cli("sessions", "list", "--json").json["unreadable"] == 0


def test_a_session_that_cannot_be_read_says_what_to_do(live_fleet: Fleet, ocw_cli: Ocw) -> None:
    corrupted = corrupted_row(live_fleet, "corrupted-shown")

    shown = ocw_cli("sessions", "show", "corrupted-shown")

    assert shown.code == 1
    assert f"session {corrupted} cannot be read: sessionStartedAt" in shown.err
    assert f"`ocw sessions reset {corrupted}`" in shown.err
    assert ocw_cli("sessions", "delete", corrupted, "--yes").code == 0


def test_a_session_that_cannot_be_read_is_reset(live_fleet: Fleet, ocw_cli: Ocw) -> None:
    corrupted = corrupted_row(live_fleet, "corrupted-reset")

    done = ocw_cli("sessions", "reset", "corrupted-reset", "--json")

    assert (done.code, done.json["sessionKey"], done.json["previousSessionId"]) == (0, corrupted, None)
    shown = ocw_cli("sessions", "show", "corrupted-reset", "--json").json
    assert (shown["sessionId"], shown["turns"]) == (done.json["sessionId"], 0)
    assert live_fleet.outcome(live_fleet.send(program(say("goes on")), "corrupted-reset")).text == "goes on"


def test_a_session_without_a_readable_row_is_deleted(live_fleet: Fleet, ocw_cli: Ocw) -> None:
    name = "corrupted-deleted"
    corrupted, stores = corrupted_row(live_fleet, name), live_fleet.stores

    done = ocw_cli("sessions", "delete", name, "--yes", "--json")

    assert (done.code, done.json["sessionKey"]) == (0, corrupted)
    assert ocw_cli("sessions", "show", name).code == 5
    assert stores.redis.exists(stores.keys.row(corrupted), stores.keys.ctl(corrupted), stores.keys.log(corrupted)) == 0


def test_a_run_of_the_wrong_type_hides_no_other_run(live_fleet: Fleet, ocw_cli: Ocw) -> None:
    corrupted = live_fleet.outcome(live_fleet.send(program(say("lost")), "corrupted-run")).receipt.run
    whole = live_fleet.outcome(live_fleet.send(program(say("whole")), "whole-run")).receipt.run
    corrupt(live_fleet, live_fleet.stores.keys.run(str(corrupted)))

    listed, text = ocw_cli("runs", "list", "--json"), ocw_cli("runs", "list")
    trees = [ocw_cli("runs", "tree", *words) for words in ([], ["whole-run"], ["corrupted-run"])]
    shown = ocw_cli("runs", "show", str(corrupted))

    runs = [run["runId"] for run in listed.json["runs"]]
    assert (listed.code, whole in runs, corrupted in runs, listed.json["unreadable"]) == (0, True, False, 1)
    for done in (listed, text):
        assert "1 damaged record was left out and quarantined" in done.err
    assert [tree.code for tree in trees] == [0, 0, 0]
    assert "1 damaged record was left out and quarantined" in trees[0].err
    assert ocw_cli("runs", "tree", "corrupted-run", "--json").json == {"ok": True, "trees": [], "unreadable": 1}
    assert shown.code == 1
    assert (
        f"run {corrupted} cannot be read: {live_fleet.stores.keys.run(str(corrupted))} holds another type than a hash"
        in shown.err
    )
    assert "hint:" in shown.err
    live_fleet.stores.redis.delete(live_fleet.stores.keys.run(str(corrupted)))
    assert ocw_cli("runs", "show", str(corrupted)).code == 5, "a deleted record counts as damaged"


def test_status_works_whatever_is_damaged(bare_fleet: Fleet) -> None:
    ocw, redis, keys = Ocw(bare_fleet), bare_fleet.stores.redis, bare_fleet.stores.keys
    one, two, three = (session_key(name) for name in ("one", "two", "three"))
    for name in ("one", "two", "three"):
        bare_fleet.send("hello", name)
    for key in (keys.worker("host/1/x"), keys.inbox(one), keys.ctl(two), keys.batches(three), keys.receipts(three)):
        corrupt(bare_fleet, key)
    redis.zadd(
        keys.workers, {"host/1/x": bare_fleet.stores.due.now_ms(), "no worker": bare_fleet.stores.due.now_ms() - 60_000}
    )
    redis.zadd(keys.running, {two: 1})

    status, text = ocw("status", "--json"), ocw("status")

    assert (status.code, text.code) == (0, 0)
    assert [(worker["host"], worker["pid"], worker["lane"]) for worker in status.json["workers"]] == [
        ("host", 1, ""),
        ("no worker", 0, ""),
    ]
    assert status.json["lanes"][0]["waiting"] == 2
    assert status.json["leases"] == []
    listed = {session["sessionKey"]: session["state"] for session in ocw("sessions", "list", "--json").json["sessions"]}
    assert listed == {one: "queued", two: "unreadable", three: "queued"}
    assert ocw("sessions", "show", "two").code == ocw("sessions", "show", "three").code == 0


def test_damaged_records_are_listed_with_place_reason_time_and_hint(bare_fleet: Fleet) -> None:
    ocw, stores, began = Ocw(bare_fleet), bare_fleet.stores, bare_fleet.stores.due.now_ms()
    assert ocw("status", "--damaged").out == "no damaged records\n"
    run = bare_fleet.send("hello", "one").run
    bare_fleet.send("hello", "two")
    stores.redis.hset(stores.keys.run(str(run)), "attempt", "\x1b[2Jmany")
    corrupt(bare_fleet, stores.keys.row(session_key("two")))

    shown, status = ocw("runs", "show", str(run)), ocw("sessions", "list")
    listed, text = ocw("status", "--damaged", "--json"), ocw("status", "--damaged")

    row, record = listed.json["damaged"]
    assert (row["where"], row["why"]) == (
        f"session {session_key('two')}",
        f"{stores.keys.row(session_key('two'))} holds another type than a hash",
    )
    assert record["where"] == f"run {run}"
    assert record["why"].startswith("attempt: Input should be a valid integer")
    assert "many" in record["raw"]
    assert began - 60_000 < record["at"] <= row["at"] < began + 60_000
    for entry in (row, record):
        assert entry["where"] in text.out
        assert entry["why"] in text.out
    assert "ocw sessions reset KEY" in text.out
    assert "ago)" in text.out
    assert f"run {run} cannot be read: attempt: Input should be a valid integer" in shown.err
    assert "`ocw status --damaged` says what to do" in shown.err
    for output in (status.err, ocw("status").out):
        assert "quarantined; `ocw status --damaged` lists them" in output
    assert [note["at"] for note in ocw("status", "--damaged", "--json").json["damaged"]] == [row["at"], record["at"]]
