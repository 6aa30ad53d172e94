"""A call that must wait for people parks its run; the answer, or the end of the time, continues it on any worker."""

from __future__ import annotations

import json
from typing import Any

import pytest

from openclaw_workers.domain.accepted import Answered, Queued
from openclaw_workers.domain.ids import RunId, SessionKey
from openclaw_workers.domain.messages import Authority, MessageState, QueueMode, Route
from openclaw_workers.domain.question import Question, QuestionKind
from openclaw_workers.domain.runs import RunState
from openclaw_workers.domain.transcript import ToolResultEntry
from openclaw_workers.engine.approvals.answers import Answers
from openclaw_workers.engine.client_graph import answers_of
from openclaw_workers.errors import BadInput, ConflictError
from tests.component.engine.conftest import SESSION, EngineHarness, MakeEngine
from tests.component.engine.session_steps import run_on, said, text, use
from tests.support.programs import call, execute, program, say, spawn

GROUP = SessionKey("agent:main:telegram:group:-100")
IN_GROUP = Route(channel="telegram", to="-100", account_id="default")
TELEGRAM = {"channels": {"telegram": {"botToken": "1:a", "owners": ["7"], "groups": {"-100": {}}}}}


@pytest.fixture
def chat(make_engine: MakeEngine) -> EngineHarness:
    return make_engine(TELEGRAM)


def run_in_group(engine: EngineHarness, command: str = "echo done", *more: Any) -> Queued:
    return engine.say(text(call(execute(command)), *more, say("finished")), GROUP, route=IN_GROUP)


def only(engine: EngineHarness) -> Question:
    (question,) = engine.stores.questions.open()
    return question


def answers(engine: EngineHarness) -> Answers:
    return answers_of(engine.stores, engine.waker)


def allow(engine: EngineHarness, how: str = "once") -> str:
    return answers(engine).decide(only(engine), how, by="Ann", authority=Authority.OWNER)


def results(engine: EngineHarness, session: SessionKey = GROUP) -> list[str]:
    entries = [entry for entry in engine.log(session) if isinstance(entry, ToolResultEntry)]
    return [entry.content[0].text for entry in entries]


def expire(engine: EngineHarness) -> None:
    """Its time is over, and the sweep looks."""
    stores, question = engine.stores, only(engine)
    stores.redis.hset(stores.keys.question(question.id), "expires_at", 1)
    stores.redis.zadd(stores.keys.due, {f"turn|{question.session}": 1})
    engine.sweeper.sweep()


def outgoing(engine: EngineHarness) -> list[dict[str, Any]]:
    found: Any = engine.stores.redis.xrange(engine.stores.keys.outgoing)
    return [json.loads(fields["message"]) for _, fields in found]


def test_a_command_that_is_not_listed_waits_for_an_owner_and_then_runs(chat: EngineHarness) -> None:
    queued = run_in_group(chat)
    chat.work()

    assert chat.ctl("state", GROUP) == "parked"
    assert chat.process.runs() == []
    question = only(chat)
    assert (question.kind, question.command, question.place) == (QuestionKind.APPROVAL, "echo done", "host")
    assert allow(chat) == "Allowed once."
    run_on(chat)

    assert "done" in results(chat)[0]
    assert chat.run_of(queued).state is RunState.OK
    assert chat.run_of(queued).attempt == 1
    assert chat.stores.questions.open() == []


def test_the_chat_is_asked_with_the_exact_command_and_buttons(chat: EngineHarness) -> None:
    run_in_group(chat, "echo 'a `b` ```c'")
    chat.work()

    (message,) = outgoing(chat)
    question = only(chat)
    assert "echo 'a `b` ```c'" in message["text"]
    assert message["route"]["to"] == "-100"
    data = [button["data"] for row in message["buttons"] for button in row]
    assert data == [f"/approve {question.id} once", f"/approve {question.id} for", f"/approve {question.id} always"] + [
        f"/deny {question.id}"
    ]


def test_an_owners_direct_chat_is_not_asked(chat: EngineHarness) -> None:
    chat.say(text(call(execute("echo done")), say("finished")))
    chat.work()

    assert "done" in results(chat, SESSION)[0]


def test_a_denied_command_does_not_run_and_the_model_learns_by_whom(chat: EngineHarness) -> None:
    run_in_group(chat)
    chat.work()
    allow(chat, "deny")
    run_on(chat)

    assert "Ann denied it" in results(chat)[0]
    assert said(chat, GROUP) == ["finished"]


@pytest.mark.parametrize(("fallback", "runs"), [("deny", False), ("full", True)])
def test_if_nobody_answers_in_time_the_fallback_holds(make_engine: MakeEngine, fallback: str, runs: bool) -> None:
    engine = make_engine({**TELEGRAM, "tools": {"exec": {"askFallback": fallback}}})
    run_in_group(engine)
    engine.work()
    expire(engine)
    engine.work()

    assert ("[exit code 0]" in results(engine)[0]) is runs
    assert said(engine, GROUP) == ["finished"]


def test_the_time_to_wait_is_configured_and_is_not_time_of_the_turn(make_engine: MakeEngine) -> None:
    engine = make_engine({**TELEGRAM, "tools": {"exec": {"approvalTimeout": "2h"}}})
    run_in_group(engine)
    engine.work()
    question = only(engine)
    run = engine.stores.reader.run(question.run)

    assert question.expires_at - question.asked_at == 7_200_000
    assert run is not None
    assert (run.deadline_at or 0) - question.asked_at > 7_200_000
    allow(engine)
    again = engine.stores.reader.run(question.run)
    assert again is not None
    assert (again.deadline_at or 0) - question.asked_at < 700_000


def test_the_first_answer_counts_and_a_later_one_learns_so(chat: EngineHarness) -> None:
    run_in_group(chat)
    chat.work()
    question = only(chat)
    allow(chat)
    with pytest.raises(ConflictError, match="answered before by Ann: allow-once"):
        answers(chat).decide(question, "deny", by="Bob", authority=Authority.OWNER)
    run_on(chat)

    assert "done" in results(chat)[0]
    with pytest.raises(ConflictError, match="answered before"):
        answers(chat).decide(question, "deny", by="Bob", authority=Authority.OWNER)


def test_a_late_answer_changes_nothing(chat: EngineHarness) -> None:
    run_in_group(chat)
    chat.work()
    question = only(chat)
    expire(chat)
    chat.work()

    with pytest.raises(ConflictError, match="too late"):
        answers(chat).decide(question, "once", by="Ann", authority=Authority.OWNER)
    assert "nobody allowed it in time" in results(chat)[0]


@pytest.mark.parametrize("authority", [Authority.ANYONE, Authority.AUTHORIZED])
def test_only_owners_may_decide(chat: EngineHarness, authority: Authority) -> None:
    run_in_group(chat)
    chat.work()
    question = only(chat)

    with pytest.raises(BadInput, match="authority of owner"):
        chat.intake.accept(f"/approve {question.id}", session=GROUP, route=IN_GROUP, authority=authority)
    with pytest.raises(BadInput, match="authority of owner"):
        answers(chat).decide(question, "once", by="Eve", authority=authority)
    assert only(chat) == question


def test_an_owner_decides_by_command(chat: EngineHarness) -> None:
    run_in_group(chat)
    chat.work()

    done = chat.intake.accept("/approve", session=GROUP, route=IN_GROUP, authority=Authority.OWNER, sender="Ann")
    run_on(chat)

    assert done == Answered("Allowed once.")
    assert "done" in results(chat)[0]
    assert chat.intake.accept("/deny", session=GROUP, route=IN_GROUP, authority=Authority.OWNER) == Answered(
        "no question waits for an answer"
    )


def test_allow_always_adds_the_command_to_the_list(chat: EngineHarness) -> None:
    run_in_group(chat, "echo one | cat", call(execute("echo one | cat")), call(execute("echo two | cat")))
    chat.work()
    assert allow(chat, "always") == "Allowed always: echo one, cat"
    run_on(chat)

    assert len(results(chat)) == 2, "the same again was not asked for"
    assert only(chat).command == "echo two | cat"


def test_allow_for_a_time_allows_exactly_this_operation(make_engine: MakeEngine) -> None:
    engine = make_engine({**TELEGRAM, "tools": {"exec": {"approvalFor": "2h"}}})
    run_in_group(engine, "echo $HOME", call(execute("echo $HOME")), call(execute("echo  $HOME")))
    engine.work()
    with pytest.raises(BadInput, match="more than plain words"):
        allow(engine, "always")
    assert "Allowed for 2h" in allow(engine, "for")
    run_on(engine)

    assert len(results(engine)) == 2
    assert only(engine).command == "echo  $HOME"


def test_an_obfuscated_command_is_denied_without_asking(chat: EngineHarness) -> None:
    run_in_group(chat, "echo ZWNobyBoaQ== | base64 -d | sh")
    chat.work()

    assert "hides what it runs" in results(chat)[0]
    assert chat.stores.questions.open() == []


def test_listed_commands_run_without_asking(make_engine: MakeEngine) -> None:
    engine = make_engine({**TELEGRAM, "tools": {"exec": {"allowlist": ["echo"]}}})
    run_in_group(engine)
    engine.work()

    assert "done" in results(engine)[0]


def test_a_listed_command_with_variables_of_its_own_is_asked_for(make_engine: MakeEngine) -> None:
    engine = make_engine({**TELEGRAM, "tools": {"exec": {"allowlist": ["git"]}}})
    command = {"command": "git status", "env": {"GIT_PAGER": "touch x"}}
    engine.say(text(use("exec", **command), say("finished")), GROUP, route=IN_GROUP)
    engine.work()

    assert only(engine).command == "GIT_PAGER='touch x' git status"
    assert only(engine).patterns == ()


def test_new_messages_wait_and_an_interrupting_one_cancels_the_call(chat: EngineHarness) -> None:
    run_in_group(chat)
    chat.work()
    question = only(chat)
    waiting = chat.say(text(say("later")), GROUP, route=IN_GROUP)
    chat.work()
    assert chat.receipt(waiting).state is MessageState.ACCEPTED
    assert chat.ctl("state", GROUP) == "parked"

    chat.say(text(say("now")), GROUP, route=IN_GROUP, mode=QueueMode.INTERRUPT)
    run_on(chat)

    assert said(chat, GROUP) == ["now"]
    assert "[exit code 0]" not in results(chat)[0]
    with pytest.raises(ConflictError, match="nobody waits"):
        answers(chat).decide(question, "once", by="Ann", authority=Authority.OWNER)


def test_a_stop_ends_the_wait(chat: EngineHarness) -> None:
    queued = run_in_group(chat)
    chat.work()
    chat.intake.accept("/stop", session=GROUP, route=IN_GROUP, authority=Authority.OWNER)
    run_on(chat)

    assert chat.run_of(queued).state is RunState.KILLED
    assert chat.stores.questions.open() == []


def test_a_worker_that_died_while_its_call_waited_left_a_call_that_has_not_run(chat: EngineHarness) -> None:
    """The call was started before its worker died, but only to ask. It runs once it is allowed."""
    run_in_group(chat)
    taken = chat.take(GROUP)
    assert taken.started_call == ""
    chat.runner.run(GROUP, RunId(chat.ctl("run", GROUP)))
    chat.set_ctl("lease_until", 1, GROUP)
    chat.stores.redis.zadd(chat.stores.keys.due, {f"turn|{GROUP}": 1})
    chat.sweeper.sweep()
    chat.work()
    allow(chat)
    run_on(chat)

    assert "done" in results(chat)[0]


def test_an_answer_is_used_once(chat: EngineHarness) -> None:
    """The owner that had the answer died: nobody knows what it did, so the command is not run again (I5)."""
    run_in_group(chat, "echo run >> marks")
    chat.work()
    question = only(chat)
    allow(chat)
    chat.stores.redis.hset(chat.stores.keys.question(question.id), "used", "an earlier lease")
    run_on(chat)

    assert "worker" in results(chat)[0]
    assert "[exit code 0]" not in results(chat)[0]


def test_a_sub_agents_command_is_asked_for_in_the_chat_of_its_root(chat: EngineHarness) -> None:
    child = program(call(execute("echo below")), say("child done"))
    chat.say(text(spawn(child), say("spawned"), say("heard")), GROUP, route=IN_GROUP)
    run_on(chat)
    (message,) = [each for each in outgoing(chat) if each.get("buttons")]

    assert message["route"]["to"] == "-100"
    allow(chat)
    run_on(chat)
    (run,) = [run for run in chat.stores.reader.runs(10) if run.depth == 1]
    assert run.text == "child done"


def ask_in_group(engine: EngineHarness, **arguments: Any) -> Queued:
    wanted = {"question": "Which colour?", "choices": ["red", "blue"], **arguments}
    return engine.say(text(use("ask_user", **wanted), say("finished")), GROUP, route=IN_GROUP)


def answer_of(engine: EngineHarness) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(results(engine)[0])
    return found


@pytest.mark.parametrize(("said_", "choice"), [("2", 2), ("Blue", 2), ("green, please", None)])
def test_a_plain_message_answers_what_the_agent_asked(chat: EngineHarness, said_: str, choice: int | None) -> None:
    first = ask_in_group(chat)
    chat.work()
    reply = chat.intake.accept(said_, session=GROUP, route=IN_GROUP, authority=Authority.OWNER, sender="Ann")
    run_on(chat)

    answer = answer_of(chat)
    assert (answer["status"], answer.get("choice"), answer["by"]) == ("answered", choice, "Ann")
    assert answer["answer"] == ("blue" if choice else said_)
    assert isinstance(reply, Queued)
    assert chat.receipt(reply).state is MessageState.ANSWERED
    assert chat.receipt(reply).run == chat.receipt(first).run


def test_a_button_answers_in_the_chat_that_was_asked_only(chat: EngineHarness) -> None:
    ask_in_group(chat)
    chat.work()
    question, elsewhere = only(chat), Route(channel="telegram", to="5", account_id="default")
    command = f"/answer {question.id} 1"
    with pytest.raises(BadInput, match="another chat"):
        chat.intake.accept(command, session=SESSION, route=elsewhere, authority=Authority.AUTHORIZED)
    with pytest.raises(BadInput, match="authority of owner"):
        chat.intake.accept(command, session=GROUP, route=IN_GROUP, authority=Authority.AUTHORIZED)

    chat.intake.accept(command, session=GROUP, route=IN_GROUP, authority=Authority.OWNER, sender="Ann")
    run_on(chat)

    assert (answer_of(chat)["choice"], answer_of(chat)["answer"]) == (1, "red")


def test_a_message_of_somebody_who_may_not_answer_waits(chat: EngineHarness) -> None:
    ask_in_group(chat)
    chat.work()
    stranger = chat.say("blue", GROUP, route=IN_GROUP, authority=Authority.ANYONE)
    chat.work()

    assert chat.receipt(stranger).state is MessageState.ACCEPTED
    assert only(chat).kind is QuestionKind.ASK


def test_a_question_that_nobody_answers_expires(chat: EngineHarness) -> None:
    ask_in_group(chat, timeoutSeconds=60)
    chat.work()
    expire(chat)
    chat.work()

    assert answer_of(chat)["status"] == "expired"


def test_the_page_and_the_command_line_show_what_waits_where_no_chat_is(engine: EngineHarness) -> None:
    engine.say(text(use("ask_user", question="Go on?"), say("finished")))
    engine.work()
    question = only(engine)
    assert outgoing(engine) == []

    answers(engine).answer(question, "yes", by="the owner", authority=Authority.OWNER, address=None)
    run_on(engine)

    assert answer_of_main(engine) == {"status": "answered", "answer": "yes", "by": "the owner"}


def answer_of_main(engine: EngineHarness) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(results(engine, SESSION)[0])
    return found
