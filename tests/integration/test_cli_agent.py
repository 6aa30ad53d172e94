"""`ocw agent` with real workers: its output, its JSON and its exit codes."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from openclaw_workers.domain.transcript import ToolResultEntry, UserEntry
from tests.support.fleet import Fleet, session_key
from tests.support.ocw import Gate, Ocw, finish
from tests.support.programs import as_text, call, execute, program, say
from tests.support.terminal import Terminal
from tests.support.waiting import eventually

FIELDS = [
    *("ok", "runId", "sessionKey", "sessionId", "status", "reason", "text", "reply", "response"),
    *("usage", "model", "fallbackFrom", "cost", "error"),
]


def test_the_answer_is_printed_and_the_exit_code_is_zero(ocw_cli: Ocw) -> None:
    done = ocw_cli("agent", "--session", "plain", "-m", as_text(program(say("the answer"))))

    assert (done.code, done.out, done.err) == (0, "the answer\n", "")


def test_the_answer_is_printed_while_it_streams(live_fleet: Fleet, ocw_cli: Ocw) -> None:
    slowly = {"text": "one two three four", "chunks": 4, "chunkDelayMs": 700}
    process = ocw_cli.start("agent", "--session", "slow", "-m", as_text(program(slowly)))
    assert process.stdout is not None

    first = process.stdout.read(3)
    running = live_fleet.stores.reader.control(session_key("slow")).state
    done = finish(process)

    assert (first, running) == ("one", "running")
    assert first + done.out == "one two three four\n"


def test_a_silent_reply_prints_nothing(ocw_cli: Ocw) -> None:
    silent = {"text": "NO_REPLY", "chunks": 4, "chunkDelayMs": 150}
    done = ocw_cli("agent", "--session", "silent", "-m", as_text(program(silent)))
    assert (done.code, done.out, done.err) == (0, "", "")
    answer = ocw_cli("agent", "--json", "--session", "silent", "-m", as_text(program(silent))).json
    assert (answer["ok"], answer["text"]) == (True, "")


def test_files_are_sent_with_a_message(live_fleet: Fleet, ocw_cli: Ocw, tmp_path: Path) -> None:
    names = ["photo one.png", "notes.txt"]
    for name in names:
        (tmp_path / name).write_text(name)
    given = [word for name in names for word in ("--file", str(tmp_path / name))]
    steps = as_text(program(call(execute("cat .openclaw/inbox/m-1-*/2-notes.txt")), say("seen")))
    done = ocw_cli("agent", "--session", "files", "--message-id", "m-1", "-m", steps, *given)
    assert (done.code, done.out) == (0, "seen\n")
    asked, _, result, _ = live_fleet.transcript("files")
    assert isinstance(asked, UserEntry)
    assert [(each.name, each.mime_type) for each in asked.attachments] == [
        ("photo one.png", "image/png"),
        ("notes.txt", "text/plain"),
    ]
    assert isinstance(result, ToolResultEntry)
    assert "notes.txt" in result.content[0].text
    missing = ocw_cli("agent", "--session", "files", "-m", "look", "--file", str(tmp_path / "none"))
    assert missing.code == 2
    assert "is not a file" in missing.err


def test_json_has_exactly_the_documented_fields(ocw_cli: Ocw) -> None:
    done = ocw_cli("agent", "--json", "--session", "json", "-m", as_text(program(say("as json"))))

    result = done.json
    assert list(result) == FIELDS
    assert (result["ok"], result["status"], result["text"], result["error"]) == (True, "ok", "as json", None)
    assert result["sessionKey"] == "agent:main:json"
    assert list(result["usage"]) == ["input", "output", "cacheRead", "cacheWrite", "total"]
    assert result["usage"]["total"] == result["usage"]["input"] + result["usage"]["output"] > 0
    assert done.out.count("\n") == 1


def test_json_may_stand_before_the_command(ocw_cli: Ocw) -> None:
    assert ocw_cli("--json", "agent", "--session", "json", "-m", as_text(program(say("x")))).json["ok"] is True


def test_json_may_stand_between_a_noun_and_its_verb(ocw_cli: Ocw) -> None:
    assert ocw_cli("sessions", "--json", "list").json["ok"] is True


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--timeout", "nan"),
        ("--timeout", "inf"),
        ("--run-timeout", "604801"),
        ("--run-timeout", str(10**23)),
        ("--context-tokens", str(10**23)),
    ],
)
def test_an_invalid_number_is_refused_before_anything_is_sent(
    live_fleet: Fleet, ocw_cli: Ocw, option: str, value: str
) -> None:
    before = len(live_fleet.runs())
    done = ocw_cli("agent", "-m", "hi", option, value)

    assert done.code == 2
    assert f"Invalid value for '{option}'" in done.err
    assert len(live_fleet.runs()) == before


def test_the_message_may_come_from_stdin(ocw_cli: Ocw) -> None:
    done = ocw_cli("agent", "--session", "stdin", "-m", "-", stdin=as_text(program(say("read"))) + "\n")

    assert (done.code, done.out) == (0, "read\n")


def test_tool_activity_goes_to_stderr(ocw_cli: Ocw) -> None:
    steps = program(call(execute("echo from-the-tool"), text="I look."), say("I looked."))
    done = ocw_cli("agent", "--session", "tools", "-m", as_text(steps))

    assert done.out == "I look.\nI looked.\n"
    assert "exec echo from-the-tool ..." in done.err
    assert "from-the-tool" in done.err
    assert "exec done" in done.err


def test_no_wait_returns_when_the_message_is_stored(live_fleet: Fleet, ocw_cli: Ocw) -> None:
    gate = Gate(live_fleet, "later")
    held = as_text(program(gate.step, say("late")))
    first = ocw_cli("agent", "--json", "--no-wait", "--session", "later", "-m", held).json
    eventually(lambda: live_fleet.stores.reader.control(session_key("later")).state == "running", within=10)
    second = ocw_cli("agent", "--json", "--no-wait", "--session", "later", "-m", as_text(program(say("next")))).json
    gate.open()

    assert list(first) == FIELDS
    assert (first["ok"], first["status"], first["text"]) == (True, "accepted", None)
    assert first["runId"].startswith("run-")
    assert first["sessionId"]
    assert (second["status"], second["runId"]) == ("accepted", None), "the session was busy: its run is not known yet"


def test_a_command_that_acts_at_once_needs_no_run(ocw_cli: Ocw) -> None:
    text = ocw_cli("agent", "-m", "/help")
    json = ocw_cli("agent", "--json", "-m", "/status").json

    assert text.code == 0
    assert "/stop" in text.out
    assert (json["ok"], json["status"], json["runId"]) == (True, "command", None)


def test_a_command_in_order_is_answered_like_a_message(ocw_cli: Ocw) -> None:
    ocw_cli("agent", "--session", "fresh", "-m", as_text(program(say("before"))))
    before = ocw_cli("agent", "--json", "--session", "fresh", "-m", "/status").json["sessionId"]

    done = ocw_cli("agent", "--session", "fresh", "-m", "/new")

    assert (done.code, done.out) == (0, "New session.\n")
    assert ocw_cli("agent", "--json", "--session", "fresh", "-m", "/status").json["sessionId"] != before


def test_a_failed_run_is_reported_and_exits_with_one(ocw_cli: Ocw) -> None:
    failing = as_text(program({"fail": "billing"}))
    text = ocw_cli("agent", "--session", "failing", "-m", failing)
    json = ocw_cli("agent", "--json", "--session", "failing", "-m", failing)

    assert text.code == 1
    assert text.err.startswith("error: ")
    assert "billing" in text.err
    assert "hint: check the credit of the account" in text.err
    assert "`ocw runs show run-" in text.err
    assert json.code == 1
    assert (json.json["ok"], json.json["status"], json.json["error"]["type"]) == (False, "error", "RunFailed")
    assert set(json.json["error"]) == {"type", "message", "hint"}


def test_the_text_of_an_interrupted_model_call_is_not_printed_twice(ocw_cli: Ocw) -> None:
    whole = "this sentence is streamed, cut off, and said again"
    steps = program({"text": whole, "chunks": 8, "chunkDelayMs": 120, "fail": "cut"}, say(whole))
    done = ocw_cli("agent", "--session", "cut", "-m", as_text(steps))

    assert (done.code, done.out) == (0, whole + "\n")
    assert "trying again" in done.err


def test_a_session_in_mode_reject_exits_with_six(live_fleet: Fleet, ocw_cli: Ocw) -> None:
    live_fleet.outcome(live_fleet.send(program(say("begin")), "refusing"))
    live_fleet.command("/queue reject", "refusing")
    gate = Gate(live_fleet, "refusing")
    busy = live_fleet.send(program(gate.step, say("busy")), "refusing")
    eventually(lambda: live_fleet.stores.reader.control(session_key("refusing")).state == "running", within=10)

    text = ocw_cli("agent", "--session", "refusing", "-m", "now?")
    json = ocw_cli("agent", "--json", "--session", "refusing", "-m", "now?")
    gate.open()

    assert text.code == json.code == 6
    assert "queue mode is reject" in text.err
    assert (json.json["ok"], json.json["status"], json.json["error"]["type"]) == (False, "rejected", "Rejected")
    assert live_fleet.outcome(busy).text == "busy"


def test_a_timeout_lets_the_run_continue(live_fleet: Fleet, ocw_cli: Ocw) -> None:
    gate = Gate(live_fleet, "timeout")
    held = as_text(program(gate.step, say("in the end")))
    json = ocw_cli("agent", "--json", "--timeout", "2", "--session", "timeout", "-m", held)
    gate.open()

    assert json.code == 124
    assert (json.json["ok"], json.json["status"], json.json["error"]["type"]) == (False, "running", "WaitOver")
    watched = ocw_cli("runs", "watch", json.json["runId"])
    assert (watched.code, watched.out) == (0, "in the end\n")
    assert len([run for run in live_fleet.runs() if run.session_key == session_key("timeout")]) == 1


def test_repeating_a_message_under_its_id_gives_the_first_answer(live_fleet: Fleet, ocw_cli: Ocw) -> None:
    words = ("agent", "--json", "--session", "twice", "--message-id", "mine-1", "-m")
    first = ocw_cli(*words, as_text(program(say("once"))))
    again = ocw_cli(*words, as_text(program(say("never"))))

    assert first.json == again.json
    assert first.json["text"] == "once"
    assert len([run for run in live_fleet.runs() if run.session_key == session_key("twice")]) == 1


def test_control_c_says_that_the_run_continues_and_how_to_stop_it(live_fleet: Fleet, ocw_cli: Ocw) -> None:
    slowly = {"text": "a b c d e f", "chunks": 6, "chunkDelayMs": 500}
    process = ocw_cli.start("agent", "--session", "ctrl-c", "-m", as_text(program(slowly)))
    assert process.stdout is not None
    process.stdout.read(1)
    process.send_signal(signal.SIGINT)
    done = finish(process)

    run = next(run for run in live_fleet.runs() if run.session_key == session_key("ctrl-c"))
    assert done.code == 130
    assert f"ocw runs stop {run.id}" in done.err
    assert "Traceback" not in done.err
    eventually(lambda: live_fleet.run(run.id).state == "ok", within=20)


def test_a_message_that_joins_a_running_turn_gets_that_turns_answer(live_fleet: Fleet, ocw_cli: Ocw) -> None:
    live_fleet.outcome(live_fleet.send(program(say("begin")), "steered"))
    live_fleet.command("/queue steer", "steered")
    gate = Gate(live_fleet, "steered")
    first = live_fleet.send(program(gate.step, say("for both of you")), "steered")
    eventually(lambda: live_fleet.stores.reader.control(session_key("steered")).state == "running", within=10)

    process = ocw_cli.start("agent", "--session", "steered", "-m", "me too")
    eventually(lambda: live_fleet.stores.reader.control(session_key("steered")).waiting == 1, within=20)
    gate.open()
    done = finish(process)

    assert (done.code, done.out) == (0, "for both of you\n")
    assert live_fleet.outcome(first).text == "for both of you"
    assert len([run for run in live_fleet.runs() if run.session_key == session_key("steered")]) == 2


def test_a_model_is_chosen_for_one_turn(live_fleet: Fleet, ocw_cli: Ocw) -> None:
    done = ocw_cli("agent", "--json", "--model", "offline/demo", "--session", "model", "-m", "hello")

    assert "offline/demo" in done.json["text"]
    assert live_fleet.run(done.json["runId"]).model == "offline/demo"


def test_an_unknown_model_is_refused_before_anything_is_sent(live_fleet: Fleet, ocw_cli: Ocw) -> None:
    before = len(live_fleet.runs())
    done = ocw_cli("agent", "--json", "--model", "nosuch/x", "--session", "no-model", "-m", "hello")
    by_command = ocw_cli("agent", "--json", "--session", "no-model", "-m", "/model nosuch/x")

    assert (done.code, done.json) == (by_command.code, by_command.json)
    assert done.code == 2
    assert live_fleet.stores.reader.session(session_key("no-model")) is None
    assert len(live_fleet.runs()) == before


def test_a_model_that_was_removed_is_reported_without_a_traceback(live_fleet: Fleet, ocw_cli: Ocw) -> None:
    ocw_cli("agent", "--session", "lost-model", "-m", "hello")
    live_fleet.stores.sessions.patch(session_key("lost-model"), {"providerOverride": "nobody", "modelOverride": "m"})

    done = ocw_cli("agent", "--json", "--session", "lost-model", "-m", "hello")

    assert (done.code, done.json["error"]["type"]) == (1, "RunFailed")
    assert "unknown provider 'nobody'" in done.json["error"]["message"]
    assert "turn.prepare_failed" in live_fleet.logs()
    assert "Traceback" not in live_fleet.logs()


def test_a_terminal_shows_what_is_waited_for_and_then_only_the_answer(live_fleet: Fleet, ocw_cli: Ocw) -> None:
    gate = Gate(live_fleet, "spinner")
    steps = as_text(program(gate.step, say("At \x1b]0;owned\x07last.")))
    with Terminal(ocw_cli, "agent", "--session", "spinner", steps) as terminal:
        terminal.shows("running exec while")
        gate.open()

        assert terminal.wait(within=60) == 0
        assert terminal.drawn.endswith("\nAt last.")
        assert "running" not in terminal.drawn


def test_escape_codes_do_not_reach_a_pipe(ocw_cli: Ocw) -> None:
    steps = program({"text": "a\x1b]0;owned\x07b\x1b[31mc\x1b[0m", "chunks": 9})
    assert ocw_cli("agent", "--session", "escapes", "-m", as_text(steps)).out == "abc\n"
