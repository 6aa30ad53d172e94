"""Programs of `offline/script` in a tree: in a child's task, and in a parent that gets results."""

from __future__ import annotations

import pytest

from openclaw_workers.domain.transcript import TranscriptEntry, UserEntry
from tests.unit.providers.offline_conversation import (
    announce,
    ask,
    calls_of,
    entry_of,
    program,
    result,
    task_message,
    text_of,
    user,
)

CHILD = program({"text": "child 1"}, {"text": "child 2"})


def test_the_task_of_a_child_is_its_program() -> None:
    parent = user(program({"calls": [{"tool": "sessions_spawn", "input": {"task": CHILD}}]}, {"text": "spawned"}))
    (call,) = calls_of(ask("script", parent))
    assert call.arguments == {"task": CHILD}
    first = task_message(call.arguments["task"])
    events = ask("script", first)
    assert text_of(events) == "child 1"
    assert text_of(ask("script", first, entry_of(events))) == "child 2"


def test_only_the_task_is_searched_for_a_program() -> None:
    context = f"[Subagent Context] {program({'text': 'not mine'})}\n[Subagent Task]\n"
    assert text_of(ask("script", user(f"{context}Do this: {CHILD} and end."))) == "child 1"
    assert "no program in this conversation" in text_of(ask("script", user(f"{context}say hello")))
    assert "not valid JSON" in text_of(ask("script", user(context + '{"steps": [}')))


def quoting_programs(provenance: str | None = "subagent") -> UserEntry:
    news = announce(("a", "ok", program({"text": "from a result"})), task=program({"text": "from a task"}))
    return news.model_copy(update={"provenance": provenance})


@pytest.mark.parametrize("provenance", ["subagent", "steer", None])
def test_results_play_the_next_step_of_the_parents_own_program(provenance: str | None) -> None:
    asked = user(program({"text": "spawned"}, {"text": "results are in"}))
    conversation: list[TranscriptEntry] = [asked, entry_of(ask("script", asked)), quoting_programs(provenance)]
    events = ask("script", *conversation)
    assert text_of(events) == "results are in"
    conversation += [entry_of(events), quoting_programs(provenance)]
    events = ask("script", *conversation)
    assert text_of(events) == "noted"
    conversation += [entry_of(events), user("thanks")]
    assert text_of(ask("script", *conversation)) == "done"


def test_results_are_never_a_program() -> None:
    broken = user('[Sub-agent results]\nresult: {"steps": [}', provenance="subagent")
    for news in (quoting_programs(), broken, user(CHILD, provenance="subagent")):
        assert "no program in this conversation" in text_of(ask("script", news))


def test_results_among_collected_messages_are_not_a_program_either() -> None:
    news = quoting_programs(None).content[0].text
    message = user(f"Queued #1 (from Ann)\n{CHILD}", f"Queued #2\n{news}")
    conversation: list[TranscriptEntry] = [message]
    for text in ("child 1", "child 2", "done"):
        events = ask("script", *conversation)
        assert text_of(events) == text
        conversation.append(entry_of(events))


def test_results_steered_in_before_the_next_step_are_seen_by_it() -> None:
    asked = user(program({"calls": [{"tool": "read"}]}, {"echo": True}))
    events = ask("script", asked)
    conversation: list[TranscriptEntry] = [asked, entry_of(events), result(calls_of(events)[0], "x")]
    news = quoting_programs()
    assert text_of(ask("script", *conversation, news)) == news.content[0].text


def test_echo_says_what_arrived() -> None:
    asked = user(program({"text": "one"}, {"text": "got: ", "echo": True}, {"echo": True}))
    first = entry_of(ask("script", asked))
    assert text_of(ask("script", asked, first, user("a", "b"))) == "got: a\nb"
    message = user(program({"echo": True}))
    assert text_of(ask("script", message)) == message.content[0].text
    child = task_message(program({"echo": True}))
    assert text_of(ask("script", child)) == child.content[0].text


def test_echo_ends_at_200_kilobytes() -> None:
    asked = user(program({"text": "one"}, {"echo": True}))
    first = entry_of(ask("script", asked))
    said = text_of(ask("script", asked, first, user("汉" * 100_000)))
    assert said == "汉" * (200_000 // 3)
    assert text_of(ask("script", asked, first, user("x" * 200_000))) == "x" * 200_000
