"""The contract of `offline/script`, sentence by sentence as docs/offline-models.md has it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openclaw_workers.cancel import Cancel
from openclaw_workers.domain.transcript import AssistantEntry, TextBlock, TranscriptEntry
from openclaw_workers.errors import FailureReason, ProviderError, TurnAborted
from openclaw_workers.providers.base import Answer, ModelRequest, TextDelta, UsageSoFar
from openclaw_workers.providers.offline.event_stream import estimate_tokens, pieces
from openclaw_workers.providers.offline.program import Step, read_program
from openclaw_workers.providers.registry import Providers
from tests.unit.providers.offline_conversation import answer_of, ask, calls_of, entry_of, program, result, text_of, user

DOCS = Path(__file__).parents[3] / "docs" / "offline-models.md"


def test_one_step_is_one_answer_and_then_done() -> None:
    conversation: list[TranscriptEntry] = [user(program({"text": "one"}, {"text": "two"}))]
    said = []
    for _ in range(4):
        events = ask("script", *conversation)
        said.append(text_of(events))
        conversation.append(entry_of(events))
    assert said == ["one", "two", "done", "done"]


def test_a_step_calls_tools_and_the_next_one_follows_their_results() -> None:
    first = user(program({"text": "Reading.", "calls": [{"tool": "read", "input": {"path": "x"}}]}, {"text": "Read."}))
    events = ask("script", first)
    assert answer_of(events).stop_reason == "toolUse"
    (call,) = calls_of(events)
    assert (call.name, call.arguments) == ("read", {"path": "x"})
    assert text_of(ask("script", first, entry_of(events), result(call, "content"))) == "Read."


def test_a_failed_call_uses_up_its_step() -> None:
    message = user(program({"fail": "rate_limit"}, {"fail": "cut"}, {"text": "at last"}))
    with pytest.raises(ProviderError) as failed:
        ask("script", message)
    assert (failed.value.reason, failed.value.status) == (FailureReason.RATE_LIMIT, 429)
    assert not any(isinstance(event, Answer) for event in ask("script", message, failed_calls=1))
    assert text_of(ask("script", message, failed_calls=2)) == "at last"


@pytest.mark.parametrize("reason", [reason for reason in FailureReason if reason is not FailureReason.CUT])
def test_every_failure_reason_can_be_produced(reason: FailureReason) -> None:
    with pytest.raises(ProviderError) as failed:
        ask("script", user(program({"text": "never said", "fail": reason})))
    assert failed.value.reason is reason


def test_a_cut_stream_ends_halfway_without_an_answer() -> None:
    events = ask("script", user(program({"text": "0123456789", "fail": "cut"})))
    assert [event.text for event in events if isinstance(event, TextDelta)] == ["01234"]
    assert isinstance(events[0], UsageSoFar)
    assert len(events) == 2


def test_a_program_may_stand_inside_other_text() -> None:
    task = f"Work on this {{not json}}: {program({'text': 'found'})} and report {{}}."
    assert text_of(ask("script", user(task))) == "found"
    assert text_of(ask("script", user(f"Queued #1 (from Ann)\n{program({'text': 'queued'})}"))) == "queued"
    wrapped = json.dumps({"task": {"steps": [{"text": "inner"}]}})
    assert text_of(ask("script", user(wrapped))) == "inner"


def test_collected_programs_follow_one_another() -> None:
    texts = [f"Queued #{n} (from Ann)\n{program({'text': f'answer {n}'})}" for n in (1, 2)]
    message = user(texts[0], "Queued #2 (from Bob)\nhello there", texts[1])
    first = ask("script", message)
    assert text_of(first) == "answer 1"
    assert text_of(ask("script", message, entry_of(first))) == "answer 2"


def test_plain_text_that_joins_the_turn_does_not_start_the_program_over() -> None:
    message = user(program({"text": "one"}, {"text": "two"}))
    first = entry_of(ask("script", message))
    assert text_of(ask("script", message, first, user("hurry up, please"))) == "two"
    assert text_of(ask("script", message, first, user(program({"text": "new"})))) == "new"


@pytest.mark.parametrize(
    ("message", "problem"),
    [
        ("hello", "There is no program in this conversation"),
        ('{"steps": [{"txt": "x"}]}', "steps.0.txt: Extra inputs are not permitted"),
        ('{"steps": [{"delayMs": "soon"}]}', "steps.0.delayMs: Input should be a valid integer"),
        ('{"steps": [{"delayMs": -1}]}', "greater than or equal to 0"),
        ('{"steps": [{"fail": "bad luck"}]}', "steps.0.fail"),
        ('{"steps": [{"calls": [{"input": {}}]}]}', "steps.0.calls.0.tool: Field required"),
        ('{"steps": {}}', "steps: Input should be a valid list"),
        ('{"steps": [}', "not valid JSON"),
        ('{"step": []}', "it has no `steps`"),
        ('Do this: {"steps": [{"text": "x"},]}', "not valid JSON"),
        ('{"steps":' + "[" * 100_000, "nested too deeply"),
    ],
)
def test_an_invalid_program_gets_an_answer_that_says_why(message: str, problem: str) -> None:
    said = text_of(ask("script", user(message)))
    assert problem in said
    assert 'expects a JSON program as the message: {"steps"' in said


@given(st.text(alphabet='{}[]":,steps 0\\n', max_size=60))
def test_no_text_breaks_the_model(text: str) -> None:
    assert ask("script", user(text))


def test_call_ids_are_repeatable_and_never_used_twice_in_a_session() -> None:
    text = program({"calls": [{"tool": "read"}, {"tool": "read"}]}, {"calls": [{"tool": "read"}]})
    conversation: list[TranscriptEntry] = []
    ids: list[str] = []
    for turn in range(3):
        conversation.append(user(text, ids=[f"m{turn}"]))
        for _ in range(2):
            calls = calls_of(ask("script", *conversation))
            assert calls == calls_of(ask("script", *conversation))
            ids += [call.id for call in calls]
            conversation.append(AssistantEntry(content=[*calls], stop_reason="toolUse"))
            conversation += [result(call, "ok") for call in calls]
    assert len(ids) == len(set(ids)) == 9
    # A shortened history has as many answers as a younger one: the message tells them apart.
    assert calls_of(ask("script", user(text, ids=["m9"])))[0].id not in ids


def test_a_stop_between_two_pieces_is_noticed() -> None:
    cancel = Cancel()
    message = user(program({"text": "a b c d", "chunkDelayMs": 60_000}))
    events = Providers().get("offline").stream(ModelRequest("script", "", [message]), cancel)
    next(events)
    next(events)
    cancel.set(TurnAborted("stopped"))
    with pytest.raises(TurnAborted):
        next(events)


@given(st.text(max_size=300), st.none() | st.integers(1, 50))
def test_pieces_joined_are_the_text(text: str, count: int | None) -> None:
    parts = pieces(text, count)
    assert "".join(parts) == text
    assert all(parts)
    assert len(parts) <= (count or 8)


def test_chunks_says_into_how_many_pieces() -> None:
    events = ask("script", user(program({"text": "abcdefghij", "chunks": 5})))
    assert [event.text for event in events if isinstance(event, TextDelta)] == ["ab", "cd", "ef", "gh", "ij"]


def test_tokens_are_a_quarter_of_the_bytes_plus_one() -> None:
    assert [estimate_tokens(text) for text in ("", "abc", "abcd", "汉字")] == [1, 1, 2, 2]


def test_a_long_history_before_the_program_is_not_looked_at() -> None:
    history: list[TranscriptEntry] = []
    for number in range(500):
        history.append(user(program({"text": str(number)})))
        history.append(AssistantEntry(content=[TextBlock(text=str(number))]))
    assert text_of(ask("script", *history, user(program({"text": "new"})))) == "new"


def test_the_documented_programs_are_programs() -> None:
    text = DOCS.read_text()
    programs = re.findall(r"-m '(.+)'$", text, re.MULTILINE) + re.findall(r"^\{.+\}$", text, re.MULTILINE)
    assert len(programs) == 5
    for each in programs:
        steps = read_program(each)
        assert steps
        assert not any("was not run" in step.text for step in steps)
    fields = {field.alias for field in Step.model_fields.values()}
    assert fields == set(re.findall(r"^\| `(\w+)` \|", text.split("Every field of a step")[1], re.MULTILINE))
    assert all(f"`{reason}`" in text for reason in FailureReason)
