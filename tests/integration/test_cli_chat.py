"""`ocw chat`: line by line from a pipe, and with a keyboard in a terminal."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.support.fleet import Fleet, session_key
from tests.support.ocw import Gate, Ocw
from tests.support.programs import as_text, call, execute, program, say
from tests.support.terminal import Terminal
from tests.support.waiting import eventually


@pytest.fixture
def terminal(ocw_cli: Ocw, request: pytest.FixtureRequest) -> Iterator[Terminal]:
    terminal = Terminal(ocw_cli, "chat", "--session", request.node.name)
    yield terminal
    terminal.close()


def test_a_pipe_is_answered_line_by_line_without_decoration(ocw_cli: Ocw) -> None:
    lines = [as_text(program(say("first"))), "", "/queue", as_text(program(say("second"))), "/exit", "unread"]
    done = ocw_cli("chat", "--session", "piped", stdin="\n".join(lines))

    assert done.code == 0
    assert done.out.splitlines()[0] == "first"
    assert "Queue mode" in done.out.splitlines()[1]
    assert done.out.splitlines()[2:] == ["second"]
    assert done.err == ""


def test_json_gives_one_result_per_message(ocw_cli: Ocw) -> None:
    lines = [as_text(program(say("one"))), "/help", as_text(program({"fail": "auth"}))]
    done = ocw_cli("chat", "--json", "--session", "piped-json", stdin="\n".join(lines))

    results = [json.loads(line) for line in done.out.splitlines()]
    assert [result["status"] for result in results] == ["ok", "command", "error"]
    assert done.code == 1, "a script must notice an unanswered message"


def test_a_command_has_its_session_in_json_as_with_ocw_agent(ocw_cli: Ocw) -> None:
    ocw_cli("agent", "-m", "hello", "--session", "known", "--model", "offline/demo")
    answer = json.loads(ocw_cli("chat", "--session", "known", "--json", stdin="/status\n").out)
    alone = ocw_cli("agent", "--session", "known", "--json", "-m", "/status").json

    assert answer["sessionId"] == alone["sessionId"] is not None


def test_a_rejected_line_fails_as_with_ocw_agent(ocw_cli: Ocw) -> None:
    done = ocw_cli("chat", "--json", "--session", "piped-wrong", stdin="/queue sideways\n/help\n")

    refused, answered = (json.loads(line) for line in done.out.splitlines())
    assert refused["error"]["type"] == "BadInput"
    assert answered["status"] == "command"
    assert done.code == 2


def test_a_person_sees_a_prompt_tool_activity_and_the_answer(terminal: Terminal) -> None:
    terminal.shows("Ctrl-D leaves")
    terminal.type(as_text(program(call(execute("echo working")), say("It is **done**.\n\nReally."))) + "\r")
    terminal.shows("· exec echo working ...")
    terminal.shows("\nIt is done.\n\nReally.\n>")
    terminal.type("/exit\r")

    assert terminal.wait() == 0
    assert "continues" not in terminal.drawn


def test_control_c_stops_the_turn_and_control_d_leaves(terminal: Terminal, live_fleet: Fleet) -> None:
    session = "test_control_c_stops_the_turn_and_control_d_leaves"
    terminal.shows("\n>")
    terminal.type("\x03")
    terminal.shows("[Ctrl-D or /exit leaves]")
    terminal.type(as_text(program({"text": "a b c d e f g h", "chunkDelayMs": 1000})) + "\r")
    eventually(lambda: live_fleet.events(session, "text.delta"), within=30)
    terminal.shows("answers, ")
    terminal.type("\x03")
    terminal.shows("[stopped]")
    terminal.type("\x04")

    assert terminal.wait() == 0
    assert [run.state for run in live_fleet.runs() if run.session_key == session_key(session)] == ["killed"]


def test_a_second_control_c_leaves_while_the_turn_is_being_stopped(terminal: Terminal, live_fleet: Fleet) -> None:
    session = "test_a_second_control_c_leaves_while_the_turn_is_being_stopped"
    terminal.shows("\n>")
    terminal.type(as_text(program(say("never", delay_ms=60_000))) + "\r")
    eventually(lambda: live_fleet.events(session, "run.started"), within=30)
    terminal.shows("waiting for")
    terminal.type("\x03\x03")

    assert terminal.wait() == 130
    key = session_key(session)
    eventually(lambda: [run.state for run in live_fleet.runs() if run.session_key == key] == ["killed"], within=30)


@pytest.mark.parametrize("keys", ["/exit\r", "\x04"])
def test_leaving_during_a_turn_lets_it_run(ocw_cli: Ocw, live_fleet: Fleet, keys: str) -> None:
    session = f"leaving-{len(keys)}"
    with Terminal(ocw_cli, "chat", "--session", session) as terminal:
        terminal.shows("\n>")
        terminal.type(as_text(program(say("done alone", delay_ms=3000))) + "\r")
        eventually(lambda: live_fleet.events(session, "run.started"), within=30)
        terminal.shows("waiting for")
        terminal.type(keys)

        assert terminal.wait() == 0
        assert "[left; the turn continues]" in terminal.drawn
    key = session_key(session)
    eventually(lambda: [run.text for run in live_fleet.runs() if run.session_key == key] == ["done alone"], within=30)


def test_what_is_typed_during_a_turn_is_sent_at_once(terminal: Terminal, live_fleet: Fleet) -> None:
    session = "test_what_is_typed_during_a_turn_is_sent_at_once"
    terminal.shows("\n>")
    terminal.type(as_text(program(say("the first", delay_ms=3000))) + "\r")
    eventually(lambda: live_fleet.events(session, "run.started"), within=30)
    terminal.type("/status\r")
    terminal.shows("running (run-")
    terminal.type(as_text(program(say("the second"))) + "\r")
    terminal.shows("[sent]")
    terminal.shows("\nthe first\n")
    terminal.shows("\nthe second\n")


def test_a_pasted_block_of_lines_is_one_message(terminal: Terminal, live_fleet: Fleet) -> None:
    terminal.shows("\n>")
    terminal.type("\x1b[200~several\rlines\rat once\x1b[201~\r")
    terminal.shows("steps")  # the scripted model answers that this is not a program

    [entry, *_] = live_fleet.transcript("test_a_pasted_block_of_lines_is_one_message")
    assert entry.role == "user"
    assert entry.content[0].text == "several\nlines\nat once"


def test_it_shows_the_last_exchange_the_turn_that_runs_and_what_others_ask(
    ocw_cli: Ocw, live_fleet: Fleet, request: pytest.FixtureRequest
) -> None:
    session, gate = request.node.name, Gate(live_fleet, request.node.name)
    assert ocw_cli("agent", "--session", session, "-m", as_text(program(say("before")))).code == 0
    running = program(gate.step, say("at last"))
    ocw_cli("agent", "--session", session, "--no-wait", "-m", as_text(running))
    eventually(lambda: live_fleet.events(session, "tool.started"), within=30)
    with Terminal(ocw_cli, "chat", "--session", session) as terminal:
        terminal.shows("offline/")  # the model
        terminal.shows("\nbefore\n")
        terminal.shows("[a turn runs; it began with:]")
        terminal.shows("running exec while")
        gate.open()
        terminal.shows("\nat last\n")
        ocw_cli("agent", "--session", session, "-m", as_text(program(say("from elsewhere"))))
        terminal.shows("\nfrom elsewhere\n")
        assert "\n» {" in terminal.drawn


def test_commands_of_the_chat_itself(terminal: Terminal, ocw_cli: Ocw) -> None:
    ocw_cli("agent", "--session", "another", "-m", as_text(program(say("said there"))))
    terminal.shows("\n>")
    terminal.type("/histroy\r")
    terminal.shows("did you mean /history?")
    terminal.type("/help\r")
    terminal.shows("/steer MESSAGE")
    terminal.type("/session another\r")
    terminal.shows("agent:main:another")
    terminal.shows("\nsaid there\n")
    terminal.type("/history 1\r")
    terminal.shows("\nassistant: said there\n")
    terminal.type("/steer\r")
    terminal.shows("expected /steer and a message")


def test_a_steered_message_joins_the_turn_that_runs(terminal: Terminal, live_fleet: Fleet) -> None:
    gate = Gate(live_fleet, "steered")
    terminal.shows("\n>")
    terminal.type(as_text(program(gate.step, say("not steered"))) + "\r")
    terminal.shows("running exec while")
    terminal.type(f"/steer {as_text(program(say('steered')))}\r")
    terminal.shows("[sent]")
    gate.open()
    terminal.shows("[a message joined this turn]")
    terminal.shows("\nsteered\n")
