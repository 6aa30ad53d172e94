"""One damaged record hides nothing else, is told of, and can be got rid of."""

from __future__ import annotations

from pathlib import Path

from tests.support.fleet import Fleet, session_key
from tests.support.ocw import Done, Ocw
from tests.support.programs import program, say


def spoil(fleet: Fleet, key: str) -> None:
    """Put something there that is neither hash nor list nor set."""
    fleet.stores.redis.delete(key)
    fleet.stores.redis.set(key, "junk")


def spoilt_row(fleet: Fleet, name: str) -> str:
    """A session with a transcript whose row cannot be read."""
    fleet.outcome(fleet.send(program(say("before")), name))
    fleet.stores.redis.hset(fleet.stores.keys.row(session_key(name)), "sessionStartedAt", "never")
    return session_key(name)


def keys_in(done: Done) -> list[str]:
    return [session["sessionKey"] for session in done.json["sessions"]]


def test_a_row_that_cannot_be_read_hides_no_other_session(staffed: Fleet, ocw_cli: Ocw, tmp_path: Path) -> None:
    staffed.outcome(staffed.send(program(say("whole")), "whole"))
    spoilt = spoilt_row(staffed, "spoilt-row")

    listed = ocw_cli("sessions", "list", "--json")
    text = ocw_cli("sessions", "list")
    tree = ocw_cli("sessions", "tree", "--json")
    exported = ocw_cli("sessions", "export", "--out", str(tmp_path), "--json")

    for done in (listed, tree):
        assert done.code == 0
        assert session_key("whole") in keys_in(done)
        assert spoilt not in keys_in(done)
        assert done.json["unreadable"] == 1
    assert session_key("whole") in text.out
    for done in (listed, text, tree, exported):
        assert "1 damaged record was left out and quarantined" in done.err
    assert (exported.code, exported.json["unreadable"]) == (0, 1)
    assert ocw_cli("sessions", "delete", spoilt, "--yes").code == 0
    assert ocw_cli("sessions", "list", "--json").json["unreadable"] == 0


def test_a_session_that_cannot_be_read_says_what_to_do(staffed: Fleet, ocw_cli: Ocw) -> None:
    spoilt = spoilt_row(staffed, "spoilt-shown")

    shown = ocw_cli("sessions", "show", "spoilt-shown")

    assert shown.code == 1
    assert f"session {spoilt} cannot be read: sessionStartedAt" in shown.err
    assert f"`ocw sessions reset {spoilt}`" in shown.err
    assert ocw_cli("sessions", "delete", spoilt, "--yes").code == 0


def test_a_session_that_cannot_be_read_is_reset(staffed: Fleet, ocw_cli: Ocw) -> None:
    spoilt = spoilt_row(staffed, "spoilt-reset")

    done = ocw_cli("sessions", "reset", "spoilt-reset", "--json")

    assert (done.code, done.json["sessionKey"], done.json["previousSessionId"]) == (0, spoilt, None)
    shown = ocw_cli("sessions", "show", "spoilt-reset", "--json").json
    assert (shown["sessionId"], shown["turns"]) == (done.json["sessionId"], 0)
    assert staffed.outcome(staffed.send(program(say("goes on")), "spoilt-reset")).text == "goes on"


def test_a_session_without_a_readable_row_is_deleted(staffed: Fleet, ocw_cli: Ocw) -> None:
    name = "spoilt-deleted"
    spoilt, stores = spoilt_row(staffed, name), staffed.stores

    done = ocw_cli("sessions", "delete", name, "--yes", "--json")

    assert (done.code, done.json["sessionKey"]) == (0, spoilt)
    assert ocw_cli("sessions", "show", name).code == 5
    assert stores.redis.exists(stores.keys.row(spoilt), stores.keys.ctl(spoilt), stores.keys.log(spoilt)) == 0


def test_a_run_of_the_wrong_type_hides_no_other_run(staffed: Fleet, ocw_cli: Ocw) -> None:
    spoilt = staffed.outcome(staffed.send(program(say("lost")), "spoilt-run")).receipt.run
    whole = staffed.outcome(staffed.send(program(say("whole")), "whole-run")).receipt.run
    spoil(staffed, staffed.stores.keys.run(str(spoilt)))

    listed, text = ocw_cli("runs", "list", "--json"), ocw_cli("runs", "list")
    trees = [ocw_cli("runs", "tree", *words) for words in ([], ["whole-run"], ["spoilt-run"])]
    shown = ocw_cli("runs", "show", str(spoilt))

    runs = [run["runId"] for run in listed.json["runs"]]
    assert (listed.code, whole in runs, spoilt in runs, listed.json["unreadable"]) == (0, True, False, 1)
    for done in (listed, text):
        assert "1 damaged record was left out and quarantined" in done.err
    assert [tree.code for tree in trees] == [0, 0, 0]
    assert "1 damaged record was left out and quarantined" in trees[0].err
    assert ocw_cli("runs", "tree", "spoilt-run", "--json").json == {"ok": True, "trees": [], "unreadable": 1}
    assert shown.code == 1
    assert (
        f"run {spoilt} cannot be read: {staffed.stores.keys.run(str(spoilt))} holds another type than a hash"
        in shown.err
    )
    assert "hint:" in shown.err
    staffed.stores.redis.delete(staffed.stores.keys.run(str(spoilt)))
    assert ocw_cli("runs", "show", str(spoilt)).code == 5, "what is gone is not damaged any more"


def test_the_status_is_shown_whatever_is_damaged(unstaffed: Fleet) -> None:
    ocw, redis, keys = Ocw(unstaffed), unstaffed.stores.redis, unstaffed.stores.keys
    one, two, three = (session_key(name) for name in ("one", "two", "three"))
    for name in ("one", "two", "three"):
        unstaffed.send("hello", name)
    for key in (keys.worker("host/1/x"), keys.inbox(one), keys.ctl(two), keys.batches(three), keys.receipts(three)):
        spoil(unstaffed, key)
    redis.zadd(keys.workers, {"host/1/x": unstaffed.stores.due.now_ms(), "no worker": 1})
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


def test_damaged_records_are_listed_with_where_why_and_when_and_what_to_do(unstaffed: Fleet) -> None:
    ocw, stores, began = Ocw(unstaffed), unstaffed.stores, unstaffed.stores.due.now_ms()
    assert ocw("status", "--damaged").out == "no damaged records\n"
    run = unstaffed.send("hello", "one").run
    unstaffed.send("hello", "two")
    stores.redis.hset(stores.keys.run(str(run)), "attempt", "\x1b[2Jmany")
    spoil(unstaffed, stores.keys.row(session_key("two")))

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
    for told in (row, record):
        assert told["where"] in text.out
        assert told["why"] in text.out
    assert "ocw sessions reset KEY" in text.out
    assert "ago)" in text.out
    assert f"run {run} cannot be read: attempt: Input should be a valid integer" in shown.err
    assert "`ocw status --damaged` says what to do" in shown.err
    for told in (status.err, ocw("status").out):
        assert "quarantined; `ocw status --damaged` lists them" in told
    assert [note["at"] for note in ocw("status", "--damaged", "--json").json["damaged"]] == [row["at"], record["at"]]
