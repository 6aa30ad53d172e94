"""Text for a reader from whom nothing can be taken back."""

from __future__ import annotations

from openclaw_workers.client.answer_text import AnswerText
from openclaw_workers.domain.events import Event


def give(text: AnswerText, *events: tuple[str, str]) -> str:
    return "".join(text.add(Event("1-0", kind, 1, 1, {"text": said})) for kind, said in events)


def test_deltas_are_given_as_they_come_and_the_end_adds_the_rest() -> None:
    text = AnswerText()
    assert give(text, ("run.started", ""), ("text.delta", "Hel"), ("text.delta", "lo")) == "Hello"
    assert text.finish("Hello!") == "!"


def test_an_answer_that_was_not_streamed_is_given_at_the_end() -> None:
    assert AnswerText().finish("Hello") == "Hello"
    assert AnswerText().finish(None) == ""


def test_the_next_attempt_is_given_only_where_it_goes_further() -> None:
    text = AnswerText()
    give(text, ("run.started", ""), ("text.delta", "One two"))
    assert give(text, ("run.started", ""), ("text.delta", "One"), ("text.delta", " two three")) == " three"
    assert text.finish("One two three") == ""


def test_an_attempt_that_differs_is_given_whole_after_an_empty_line() -> None:
    text = AnswerText()
    give(text, ("run.started", ""), ("text.delta", "One two"), ("model.retried", ""))
    assert give(text, ("text.delta", "One"), ("text.delta", " or two")) == "\n\nOne or two"
    assert text.finish("One or two") == ""


def test_answers_before_and_after_a_tool_call_are_apart() -> None:
    text = AnswerText()
    first = give(text, ("run.started", ""), ("text.delta", "Looking"), ("tool.started", ""))
    assert first + give(text, ("text.delta", "Found")) + text.finish("Found it") == "Looking\n\nFound it"


def test_after_a_gap_the_end_gives_the_answer() -> None:
    text = AnswerText()
    give(text, ("run.started", ""), ("text.delta", "One"))
    text.mark_gap()
    assert give(text, ("text.delta", "three")) == ""
    assert text.finish("One two three") == " two three"


def test_a_later_reply_is_apart_from_the_answer() -> None:
    text = AnswerText()
    assert text.finish("Started.") + text.finish("Done.") == "Started.\n\nDone."


def test_a_worker_that_continues_a_parked_run_replaces_none() -> None:
    text = AnswerText()
    give(text, ("run.started", ""), ("text.delta", "A"), ("run.parked", ""), ("run.started", ""))
    assert give(text, ("text.delta", "A")) == "\n\nA"
