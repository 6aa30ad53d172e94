"""`ocw sessions`: list, show, export, reset and delete."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.fleet import Fleet, session_key
from tests.support.ocw import Ocw
from tests.support.programs import call, execute, program, say
from tests.support.terminal import Terminal


def test_sessions_are_listed_last_used_first(live_fleet: Fleet, ocw_cli: Ocw) -> None:
    for name in ("list-a", "list-b"):
        live_fleet.outcome(live_fleet.send(program(say("hi")), name))

    listed = ocw_cli("sessions", "list", "--json").json
    text = ocw_cli("sessions", "list", "--limit", "1")

    keys = [session["sessionKey"] for session in listed["sessions"]]
    assert keys.index("agent:main:list-b") < keys.index("agent:main:list-a")
    first = listed["sessions"][0]
    assert (first["agentId"], first["kind"], first["state"], first["waiting"]) == ("main", "other", "idle", 0)
    assert first["tokens"] > 0
    assert first["updatedAt"] >= first["createdAt"] > 1_600_000_000_000
    assert len(text.out.splitlines()) == 2
    assert ocw_cli("sessions", "list", "--agent", "other", "--json").json["error"]["type"] == "NotFound"


def test_the_session_that_was_used_last_is_called_last(live_fleet: Fleet, ocw_cli: Ocw) -> None:
    live_fleet.outcome(live_fleet.send(program(say("hi")), "notes-of-may"))

    assert ocw_cli("sessions", "show", "last", "--json").json["sessionKey"] == "agent:main:notes-of-may"
    # The name of a session is not completed: `delete no` must not delete it.
    assert ocw_cli("sessions", "show", "notes-of").code == 5

    live_fleet.outcome(live_fleet.send(program(say("hi")), "last"))
    live_fleet.outcome(live_fleet.send(program(say("hi")), "notes-of-may"))
    assert ocw_cli("sessions", "delete", "last", "--yes", "--json").json["sessionKey"] == "agent:main:last"


def test_a_short_key_shows_the_default_agents_session(live_fleet: Fleet, ocw_cli: Ocw) -> None:
    live_fleet.outcome(live_fleet.send(program(say("hi")), "shown"))

    text = ocw_cli("sessions", "show", "shown")
    shown = ocw_cli("sessions", "show", "agent:main:shown", "--json").json

    assert "agent:main:shown" in text.out
    assert "1 answered" in text.out
    assert shown["receipts"] == {"answered": 1}
    levels = [shown[name] for name in ("thinkingLevel", "reasoningLevel", "verboseLevel")]
    assert levels == ["off", "off", "on"]
    assert [line.split() for line in text.out.splitlines() if line.startswith(("thinking", "verbose"))] == [
        ["thinking", "off", "(default)"],
        ["verbose", "on", "(default)"],
    ]
    assert shown["row"]["sessionKey"] == shown["sessionKey"] == "agent:main:shown"


def test_levels_that_were_set_are_shown(live_fleet: Fleet, ocw_cli: Ocw) -> None:
    live_fleet.outcome(live_fleet.send(program(say("hi")), "levels"))
    for command in ("/think high", "/verbose full"):
        assert ocw_cli("agent", "--session", "levels", "-m", command).code == 0

    text = ocw_cli("sessions", "show", "levels").out
    shown = ocw_cli("sessions", "show", "levels", "--json").json

    assert (shown["thinkingLevel"], shown["reasoningLevel"], shown["verboseLevel"]) == ("high", "off", "full")
    lines = {tuple(line.split()) for line in text.splitlines()}
    assert {("thinking", "high"), ("reasoning", "off", "(default)"), ("verbose", "full")} <= lines


def test_an_unknown_session_names_the_nearest_one(live_fleet: Fleet, ocw_cli: Ocw) -> None:
    live_fleet.outcome(live_fleet.send(program(say("hi")), "garden"))

    assert "did you mean 'agent:main:garden'?" in ocw_cli("sessions", "show", "gardne").err


def test_history_gives_the_entries_as_they_are_stored(live_fleet: Fleet, ocw_cli: Ocw) -> None:
    live_fleet.outcome(live_fleet.send(program(call(execute("echo out"), text="Looking."), say("Seen.")), "history"))

    entries = ocw_cli("sessions", "history", "history", "--json").json
    newest = ocw_cli("sessions", "history", "history", "--limit", "1", "--json").json
    text = ocw_cli("sessions", "history", "history")

    assert [entry["role"] for entry in entries] == ["user", "assistant", "toolResult", "assistant"]
    stored: list[str] = live_fleet.stores.redis.lrange(live_fleet.stores.keys.log(session_key("history")), 0, -1)  # type: ignore[assignment]
    assert entries == [json.loads(raw) for raw in stored]
    assert newest == entries[-1:]
    assert "<<<UNTRUSTED_TEXT" in entries[2]["content"][0]["text"]
    assert "assistant calls exec" in text.out
    assert "exec returned: out\n  [exit code 0]\n" in text.out, "text output shows markers"
    assert text.out.splitlines()[-1] == "assistant: Seen."


def test_a_damaged_entry_is_left_out_reported_and_quarantined(live_fleet: Fleet, ocw_cli: Ocw) -> None:
    live_fleet.outcome(live_fleet.send(program(say("whole")), "damaged"))
    live_fleet.stores.redis.rpush(live_fleet.stores.keys.log(session_key("damaged")), "{half an entry")

    history = ocw_cli("sessions", "history", "damaged", "--json")
    shown = ocw_cli("sessions", "show", "damaged", "--json").json

    assert [entry["role"] for entry in history.json] == ["user", "assistant"]
    assert "1 damaged entry was left out" in history.err
    assert shown["quarantined"][0]["raw"] == "{half an entry"


def test_export_writes_the_index_and_one_file_per_session(live_fleet: Fleet, ocw_cli: Ocw, tmp_path: Path) -> None:
    live_fleet.outcome(live_fleet.send(program(say("kept")), "exported"))

    done = ocw_cli("sessions", "export", "--session", "exported", "--out", str(tmp_path), "--json")

    folder = tmp_path / "agents" / "main" / "sessions"
    index = json.loads((folder / "sessions.json").read_text())
    row = index["agent:main:exported"]
    header, *entries = [json.loads(line) for line in (folder / row["sessionFile"]).read_text().splitlines()]
    assert list(index) == ["agent:main:exported"]
    assert row["sessionFile"] == f"{row['sessionId']}.jsonl"
    assert (header["type"], header["id"]) == ("session", row["sessionId"])
    parents = [None, *(entry["id"] for entry in entries)]
    assert [entry["parentId"] for entry in entries] == parents[:-1]
    kept = ocw_cli("sessions", "history", "exported", "--json").json
    assert [entry["message"]["content"] for entry in entries] == [entry["content"] for entry in kept]
    assert set(done.json["files"]) == {str(folder / "sessions.json"), str(folder / row["sessionFile"])}


def test_a_later_export_keeps_the_files_of_an_earlier_one(live_fleet: Fleet, ocw_cli: Ocw, tmp_path: Path) -> None:
    folder = tmp_path / "agents" / "main" / "sessions"
    for name in ("first", "second"):
        live_fleet.outcome(live_fleet.send(program(say("kept")), f"export-{name}"))
    assert ocw_cli("sessions", "export", "--session", "export-first", "--out", str(tmp_path)).code == 0
    earlier = json.loads((folder / "sessions.json").read_text())
    earlier["agent:main:export-first"]["ofALaterVersion"] = True
    (folder / "sessions.json").write_text(json.dumps(earlier))
    live_fleet.outcome(live_fleet.send(program(say("kept")), "export-second"))

    for _ in range(2):
        assert ocw_cli("sessions", "export", "--session", "export-second", "--out", str(tmp_path)).code == 0

    index = json.loads((folder / "sessions.json").read_text())
    assert list(index) == ["agent:main:export-first", "agent:main:export-second"]
    assert index["agent:main:export-first"] == earlier["agent:main:export-first"]
    assert index["agent:main:export-second"]["turns"] == 2


FOREIGN = [
    pytest.param(
        '{"agent:main:main": {"sessionId": "s1", "updatedAt": 1, "sessionFile": "s1.jsonl"}}', id="OpenClaw's"
    ),
    pytest.param('{"sessions": []}', id="another shape"),
    pytest.param("[]", id="a list"),
    pytest.param("not JSON \xff", id="no JSON"),
    pytest.param("[" * 100_000, id="nested too deeply"),
]


@pytest.mark.parametrize("foreign", FOREIGN)
def test_export_refuses_to_overwrite_a_foreign_index(
    live_fleet: Fleet, ocw_cli: Ocw, tmp_path: Path, foreign: str
) -> None:
    live_fleet.outcome(live_fleet.send(program(say("kept")), "exported"))
    folder = tmp_path / "agents" / "main" / "sessions"
    folder.mkdir(parents=True)
    (folder / "sessions.json").write_bytes(foreign.encode("latin-1"))

    refused = ocw_cli("sessions", "export", "--session", "exported", "--out", str(tmp_path))

    assert refused.code == 2
    assert f"{folder / 'sessions.json'} was not written by `ocw sessions export`" in refused.err
    assert (folder / "sessions.json").read_bytes() == foreign.encode("latin-1")
    assert [path.name for path in folder.iterdir()] == ["sessions.json"], "export wrote a file"


@pytest.mark.parametrize("foreign", ["", "my notes\n", '{"type": "session", "id": "another"}\n'])
def test_export_refuses_to_overwrite_the_transcript_of_another_session(
    live_fleet: Fleet, ocw_cli: Ocw, tmp_path: Path, foreign: str
) -> None:
    live_fleet.outcome(live_fleet.send(program(say("kept")), "exported"))
    row = ocw_cli("sessions", "show", "exported", "--json").json
    folder = tmp_path / "agents" / "main" / "sessions"
    folder.mkdir(parents=True)
    path = folder / f"{row['sessionId']}.jsonl"
    path.write_text(foreign)

    refused = ocw_cli("sessions", "export", "--session", "exported", "--out", str(tmp_path))

    assert refused.code == 2
    assert f"{path} was not written by `ocw sessions export`" in refused.err
    assert path.read_text() == foreign
    assert not (folder / "sessions.json").exists()


def test_export_does_not_write_into_a_state_directory(live_fleet: Fleet, ocw_cli: Ocw, tmp_path: Path) -> None:
    """The archives there have the same names and another form."""
    live_fleet.outcome(live_fleet.send(program(say("kept")), "exported"))
    (tmp_path / "state-id").write_text("x")
    refused = ocw_cli("sessions", "export", "--session", "exported", "--out", str(tmp_path))
    assert refused.code == 2
    assert "is a state directory" in refused.err
    assert not (tmp_path / "agents").exists()


def test_export_of_an_unknown_agent_is_refused_and_writes_nothing(
    live_fleet: Fleet, ocw_cli: Ocw, tmp_path: Path
) -> None:
    live_fleet.outcome(live_fleet.send(program(say("kept")), "exported"))
    out = tmp_path / "out"

    refused = ocw_cli("sessions", "export", "--agent", "mian", "--out", str(out))

    assert refused.code == 5
    assert "no agent 'mian'; did you mean 'main'?" in refused.err
    assert not out.exists()
    assert ocw_cli("sessions", "export", "--agent", "MAIN", "--out", str(out)).code == 0


def test_export_reports_an_unreadable_transcript_and_writes_the_others(
    live_fleet: Fleet, ocw_cli: Ocw, tmp_path: Path
) -> None:
    for name in ("corrupted", "whole"):
        live_fleet.outcome(live_fleet.send(program(say("kept")), name))
    log = live_fleet.stores.keys.log(session_key("corrupted"))
    live_fleet.stores.redis.delete(log)
    live_fleet.stores.redis.set(log, "junk")

    done = ocw_cli("sessions", "export", "--out", str(tmp_path), "--json").json

    assert done["unreadable"] >= 1
    folder = tmp_path / "agents" / "main" / "sessions"
    index = json.loads((folder / "sessions.json").read_text())
    files = [folder / index[session_key(name)]["sessionFile"] for name in ("corrupted", "whole")]
    assert [len(file.read_text().splitlines()) for file in files] == [1, 3]


def test_reset_keeps_the_key_and_changes_the_id(live_fleet: Fleet, ocw_cli: Ocw) -> None:
    live_fleet.outcome(live_fleet.send(program(say("old")), "reset"))
    before = ocw_cli("sessions", "show", "reset", "--json").json["sessionId"]

    done = ocw_cli("sessions", "reset", "reset", "--json").json

    assert (done["previousSessionId"], done["ok"]) == (before, True)
    assert done["sessionId"] not in (None, before)
    assert ocw_cli("sessions", "history", "reset", "--json").json == []


def test_an_empty_key_does_not_mean_the_main_session(live_fleet: Fleet, ocw_cli: Ocw) -> None:
    live_fleet.outcome(live_fleet.send(program(say("kept")), "main"))
    before = ocw_cli("sessions", "show", "main", "--json").json["sessionId"]

    for words in (["delete", "", "--yes"], ["delete", "  ", "--yes"], ["reset", ""], ["show", "\t"], ["tree", ""]):
        refused = ocw_cli("sessions", *words)
        assert (refused.code, refused.out) == (2, ""), words
        assert "the KEY of a session is empty" in refused.err
        assert "`ocw sessions list`" in refused.err

    assert ocw_cli("runs", "list", "--session", "").code == 2
    assert ocw_cli("sessions", "show", "main", "--json").json["sessionId"] == before


def test_answering_no_deletes_nothing_and_is_not_a_failure(live_fleet: Fleet, ocw_cli: Ocw) -> None:
    live_fleet.outcome(live_fleet.send(program(say("stays")), "spared"))
    with Terminal(ocw_cli, "sessions", "delete", "spared") as terminal:
        terminal.see("everything in it? [y/N]")
        terminal.type("n\n")
        terminal.see("nothing was deleted")

        assert terminal.wait() == 0
    assert ocw_cli("sessions", "show", "spared").code == 0


def test_delete_needs_a_confirmation(live_fleet: Fleet, ocw_cli: Ocw) -> None:
    live_fleet.outcome(live_fleet.send(program(say("gone soon")), "deleted"))

    refused = ocw_cli("sessions", "delete", "deleted")
    done = ocw_cli("sessions", "delete", "deleted", "--yes")

    assert refused.code == 2
    assert "--yes" in refused.err
    assert done.code == 0
    assert ocw_cli("sessions", "show", "deleted").code == 5
    assert ocw_cli("sessions", "delete", "deleted", "--yes").code == 5
