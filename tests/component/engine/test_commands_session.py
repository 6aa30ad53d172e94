"""Slash commands about a session and its chat, and unknown ones."""

from __future__ import annotations

from typing import Any

import pytest

from openclaw_workers.domain.accepted import Answered, Queued
from openclaw_workers.domain.ids import MessageId, SessionKey
from openclaw_workers.domain.messages import Authority, Route
from openclaw_workers.engine.intake.commands.registry import COMMANDS, list_commands
from openclaw_workers.errors import BadInput
from tests.component.engine.conftest import CLI, SESSION, EngineHarness, MakeEngine
from tests.component.engine.session_steps import OTHER, run_on, said, text, tool_answers, use
from tests.support.programs import program, say, spawn

GROUP = SessionKey("agent:main:telegram:group:-100")
TELEGRAM = Route(channel="telegram", to="-100", account_id="default", thread_id="3")


def answer(engine: EngineHarness, words: str, session: SessionKey = SESSION, **more: Any) -> str:
    given = {"route": CLI, "authority": Authority.OWNER, **more}
    answered = engine.intake.accept(words, session=session, **given)
    assert isinstance(answered, Answered), answered
    return answered.text


def begun(engine: EngineHarness, session: SessionKey = SESSION) -> None:
    engine.say(text(say("hello")), session)
    engine.work()


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("/stats", "did you mean /status?"),
        ("/thinkk", "did you mean /think?"),
        ("/STOPP", "did you mean /stop?"),
        ("/xyzzy", "/help lists the commands"),
        ("/tmp", ""),
        ("/status@other_bot", "did you mean /status?"),
        ("/modell:", "did you mean /model?"),
    ],
)
def test_an_unknown_word_alone_is_refused_with_the_nearest_command(engine: EngineHarness, word: str, hint: str) -> None:
    with pytest.raises(BadInput, match="is not a command") as refused:
        engine.say(word)
    assert hint in (refused.value.hint or "")
    assert engine.stores.inbox.waiting(SESSION) == []


@pytest.mark.parametrize("words", ["/stats of the day", "/usr/bin/env", "/etc/", "/tmp is full"])
def test_slash_text_with_more_words_goes_to_the_agent(engine: EngineHarness, words: str) -> None:
    engine.say(words)

    (entry,) = engine.stores.inbox.waiting(SESSION)
    assert (entry.kind, entry.text) == ("user", words)


def test_a_stop_word_stops_for_those_who_may_and_is_a_message_of_others(engine: EngineHarness) -> None:
    first = engine.say("one")
    assert answer(engine, "STOP!", authority=Authority.AUTHORIZED).startswith(f"Stopped {first.run}")

    said_by_stranger = engine.intake.accept("stop", session=SESSION, route=CLI, authority=Authority.ANYONE)
    assert isinstance(said_by_stranger, Queued)
    assert isinstance(engine.say("please stop the music"), Queued)


def test_a_command_is_given_with_the_authority_for_commands(engine: EngineHarness) -> None:
    begun(engine)
    with pytest.raises(BadInput, match="/model needs the authority of authorized"):
        answer(engine, "/model", command_authority=Authority.ANYONE)
    assert answer(engine, "/queue", authority=Authority.ANYONE, command_authority=Authority.OWNER)


def test_a_command_may_name_our_bot_and_no_other(engine: EngineHarness) -> None:
    assert "state" in answer(engine, "/status@claw_bot", bot_name="claw_bot")
    with pytest.raises(BadInput, match="is not a command"):
        answer(engine, "/status@claw_bot")


def test_whoami_tells_who_and_where_one_is(engine: EngineHarness) -> None:
    shown = answer(engine, "/id", GROUP, route=TELEGRAM, sender="Ada\nL", sender_id="7", authority=Authority.AUTHORIZED)

    assert shown.splitlines() == [
        "name    Ada L",
        "id      telegram:7",
        "rights  authorized: the agent follows you, with the session tools",
        "channel telegram, account default",
        "chat    -100",
        "thread  3",
        f"session {GROUP}",
    ]
    assert "rights  owner" in answer(engine, "/whoami")
    assert "rights  stranger" in answer(engine, "/whoami", authority=Authority.ANYONE)
    apart = answer(engine, "/whoami", authority=Authority.AUTHORIZED, command_authority=Authority.ANYONE)
    assert "rights  authorized" in apart
    assert "commands as anyone" in apart


def test_a_label_is_given_shown_found_by_sessions_send_and_removed(engine: EngineHarness) -> None:
    begun(engine, OTHER)
    assert answer(engine, "/name", OTHER) == "Label: none. Usage: /name [label|default]"
    assert answer(engine, "/name release notes", OTHER) == "Label set: release notes."
    assert answer(engine, "/name", OTHER).startswith("Label: release notes.")

    ask = use("sessions_send", label="release notes", message=text(say("found")))
    engine.say(text(ask, say("ok"), say("REPLY_SKIP")))
    run_on(engine)
    assert tool_answers(engine)[0]["reply"] == "found"

    with pytest.raises(BadInput, match=f"{OTHER} is labelled 'release notes' already"):
        answer(engine, "/name release notes")
    assert answer(engine, "/name default", OTHER) == "Label removed."
    assert answer(engine, "/name release notes") == "Label set: release notes."


@pytest.mark.parametrize("label", ["x" * 65, "two\nlines", "bell\a"])
def test_a_label_is_one_short_line(engine: EngineHarness, label: str) -> None:
    begun(engine)
    with pytest.raises(BadInput, match="a label is one line of 1 to 64 characters"):
        answer(engine, f"/name {label}")


@pytest.mark.parametrize(
    ("word", "stored", "shown"),
    [("on", "allow", "on"), ("OFF", "deny", "off"), ("inherit", None, "inherit"), ("default", None, "inherit")],
)
def test_send_is_kept_in_the_row(engine: EngineHarness, word: str, stored: str | None, shown: str) -> None:
    begun(engine)
    answer(engine, "/send off")

    assert answer(engine, f"/send {word}").startswith(f"Send set: {shown} (")
    row = engine.stores.reader.session(SESSION)
    assert row is not None
    assert row.send_policy == stored
    assert answer(engine, "/send") == f"Send: {shown}. Usage: /send on|off|inherit"


def test_activation_is_kept_in_the_row_of_a_group(engine: EngineHarness) -> None:
    begun(engine, GROUP)
    assert "as configured" in answer(engine, "/activation", GROUP)
    assert answer(engine, "/activation always", GROUP) == "Activation set: I answer to every message."
    row = engine.stores.reader.session(GROUP)
    assert row is not None
    assert row.group_activation == "always"
    assert answer(engine, "/activation", GROUP).startswith("Activation: always.")
    assert "as configured" in answer(engine, "/activation default", GROUP)
    with pytest.raises(BadInput, match="is for groups"):
        answer(engine, "/activation always")


def test_activation_begins_the_session_of_a_group(engine: EngineHarness) -> None:
    """Whoever adds the bot to a group says first whether it answers everything."""
    assert answer(engine, "/activation always", GROUP) == "Activation set: I answer to every message."
    row = engine.stores.reader.session(GROUP)
    assert row is not None
    assert (row.group_activation, row.chat_type, row.session_kind) == ("always", "group", "main")
    began = row.session_id
    begun(engine, GROUP)
    after = engine.stores.reader.session(GROUP)
    assert after is not None
    assert (after.session_id, after.group_activation) == (began, "always")


@pytest.mark.parametrize(
    ("words", "problem", "hint"),
    [
        ("/send of", "'of' is not a choice of /send", "did you mean 'off'?"),
        ("/activation mentions", "'mentions' is not an activation", "did you mean 'mention'?"),
        ("/help modle", "/modle is not a command", "did you mean 'model'?"),
        ("/subagents lst", "/subagents does not know 'lst'", "did you mean 'list'?"),
    ],
)
def test_a_wrong_word_is_named_with_the_nearest_right_one(
    engine: EngineHarness, words: str, problem: str, hint: str
) -> None:
    begun(engine, GROUP)
    with pytest.raises(BadInput, match=problem) as refused:
        answer(engine, words, GROUP)
    assert refused.value.hint == hint


@pytest.mark.parametrize("words", ["/send off", "/activation always", "/queue steer"])
def test_what_changes_how_a_session_behaves_to_others_is_the_owners(engine: EngineHarness, words: str) -> None:
    begun(engine, GROUP)
    with pytest.raises(BadInput, match="needs the authority of owner"):
        answer(engine, words, GROUP, authority=Authority.AUTHORIZED)


def test_help_lists_what_one_may_use_and_explains_one_command(engine: EngineHarness) -> None:
    mine = answer(engine, "/help", authority=Authority.ANYONE)
    assert "/whoami" in mine
    assert "/queue" not in mine
    assert answer(engine, "/help think").splitlines() == [
        "/think [off|minimal|low|medium|high|xhigh]",
        "Set how much the model thinks.",
        "Also: /thinking, /t",
        "For: authorized",
    ]
    assert answer(engine, "/help /t") == answer(engine, "/help think")


def test_commands_are_listed_for_menus_and_the_api() -> None:
    listed = list_commands(("/new", "/reset"))
    assert [each["name"] for each in listed] == list(COMMANDS)
    assert all(each["summary"] and each["usage"].startswith(f"/{each['name']}") for each in listed)
    assert all(each["name"].isascii() and each["name"].islower() and len(each["name"]) <= 32 for each in listed)
    names = [name for each in listed for name in (each["name"], *each["aliases"])]
    assert len(names) == len(set(names))
    assert "new" not in {each["name"] for each in list_commands(("/reset",))}
    assert {each["name"] for each in list_commands((), Authority.ANYONE)} == {"help", "status", "whoami", "answer"}


def test_context_detail_names_tools_and_the_largest_entries(engine: EngineHarness) -> None:
    engine.say(text(use("exec", command="seq 1 2000"), say("done")))
    engine.work()

    brief, detailed = answer(engine, "/context"), answer(engine, "/context detail")
    assert "tool exec" not in brief
    assert any(line.startswith("tool exec ") for line in detailed.splitlines())
    assert "largest entries (1 is the newest):\n  2. result of exec: about" in detailed
    assert detailed.startswith(brief.partition("\n\n")[0])


# --- /subagents


def with_children(engine: EngineHarness) -> None:
    engine.say(
        text(
            spawn(program(say("found it")), label="scout"),
            spawn(program(say("read it")), label="reader"),
            say("spawned"),
            say("heard"),
        )
    )
    run_on(engine)


def test_subagents_are_listed_and_shown(engine: EngineHarness) -> None:
    begun(engine)
    assert answer(engine, "/subagents") == "No sub-agents."
    with_children(engine)

    lines = answer(engine, "/subagents list").splitlines()
    assert [line.split(",")[0] for line in lines] == ["#1 scout: ok", "#2 reader: ok"]
    info = answer(engine, "/subagents info scout")
    assert "label   scout" in info
    assert "result  found it" in info
    assert answer(engine, "/subagents info #2") == answer(engine, "/subagents info last")
    assert answer(engine, "/subagents log 1 5").splitlines()[-1] == "assistant: found it"


def test_a_subagent_is_written_to_and_answers_to_the_session(make_engine: MakeEngine) -> None:
    engine = make_engine()
    with_children(engine)
    before = len(said(engine))

    assert answer(engine, f"/subagents send scout {text(say('more'))}", authority=Authority.AUTHORIZED) == (
        "Accepted: 'scout' answers it after its current turn."
    )
    run_on(engine)

    (run,) = [run for run in engine.stores.tree.children(SESSION) if run.text == "more"]
    assert (run.label, run.authority) == ("scout", Authority.AUTHORIZED)
    assert len(said(engine)) == before + 1, "the session heard of it"


def test_a_command_to_a_subagent_that_is_delivered_twice_is_one_message(engine: EngineHarness) -> None:
    with_children(engine)
    words = f"/subagents steer reader {text(say('once'))}"
    for _ in range(2):
        answer(engine, words, message_id=MessageId("m1"), route=TELEGRAM)
    run_on(engine)

    assert [run.text for run in engine.stores.tree.children(SESSION)].count("once") == 1


def test_subagents_are_stopped_one_by_one_or_all(engine: EngineHarness) -> None:
    children = [spawn(program(say(each)), label=each) for each in ("a", "b")]
    engine.say(text(*children, say("spawned"), say("ok")))
    engine.runner.run(*engine.waker.turns.pop())

    assert answer(engine, "/subagents stop a") == "Stopping 'a' and what it started."
    assert answer(engine, "/subagents stop all") == "Stopping 1 sub-agent(s)."
    run_on(engine)
    assert {run.state for run in engine.stores.tree.children(SESSION)} == {"killed"}
    assert answer(engine, "/subagents stop 1") == "'a' had ended already (killed)."
    assert answer(engine, "/subagents stop all") == "No sub-agent is active."


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ("/subagents info", "needs an id"),
        ("/subagents info nobody", "this session has no sub-agent 'nobody'"),
        ("/subagents send 1", "the message is missing"),
        ("/subagents log 1 many", "'many' is not a number of entries"),
        ("/subagents info same", "several sub-agents are called 'same'"),
    ],
)
def test_a_command_about_subagents_that_cannot_be_carried_out_says_why(
    engine: EngineHarness, words: str, problem: str
) -> None:
    engine.say(text(spawn(program(say("a")), program(say("b")), label="same"), say("spawned"), say("heard")))
    run_on(engine)

    with pytest.raises(BadInput, match=problem):
        answer(engine, words)


def test_subagents_of_another_session_are_not_reached(engine: EngineHarness) -> None:
    with_children(engine)
    begun(engine, OTHER)
    (first, _) = engine.stores.tree.children(SESSION)

    with pytest.raises(BadInput, match="has no sub-agent"):
        answer(engine, f"/subagents info {first.id}", OTHER)
