"""Following a message while events tell only half of the story: the records decide. Both readers behave alike."""

from __future__ import annotations

import pytest

from openclaw_workers.client.deadline import Deadline, WaitOver
from openclaw_workers.client.follow_message import Conversation
from openclaw_workers.client.follow_replies import LaterReplies
from openclaw_workers.client.protocol import (
    Ended,
    Gap,
    Note,
    ReadLastEventId,
    ReadState,
    ReadWorkers,
    ReplyStarted,
    Update,
    ask,
)
from openclaw_workers.domain.events import Event
from openclaw_workers.domain.ids import BatchId, MessageId, RunId
from openclaw_workers.errors import NotFound
from tests.component.client.conftest import SESSION, AnyReader, Records

MESSAGE, RUN, OTHER = MessageId("msg-1"), RunId("run-1"), RunId("run-2")
CHILD, BATCH = RunId("run-child"), BatchId("batch-1")


def names(updates: list[Update]) -> list[str]:
    """Types of the events and of the updates that a person sees."""
    found = []
    for update in updates:
        match update:
            case Event():
                found.append(update.type)
            case Gap() | Ended() | ReplyStarted():
                found.append(type(update).__name__)
            case Note(text):
                found.append(text)
    return found


def follow(reader: AnyReader, conversation: Conversation) -> list[str]:
    return names(list(reader.follow(conversation.steps())))


def test_only_the_run_that_covers_the_message_is_passed_on(reader: AnyReader, records: Records) -> None:
    records.receipt(MESSAGE, "accepted")
    records.event("text.delta", run=OTHER, text="not for us")
    records.event("run.ended", run=OTHER, covers=["msg-0"])
    records.event("run.started", run=RUN, covers=[MESSAGE], worker="host/1/a")
    records.event("text.delta", run=RUN, text="for us")
    updates = reader.follow(Conversation(SESSION, message=MESSAGE, run=OTHER).steps())

    seen = [next(updates) for _ in range(2)]
    records.receipt(MESSAGE, "answered", RUN)
    records.run(RUN, "ok", text="for us, whole")
    records.event("run.ended", run=RUN, covers=[MESSAGE])
    *_, last = updates

    assert names(seen) == ["run.started", "text.delta"]
    assert isinstance(last, Ended)
    assert last.run is not None
    assert last.run.text == "for us, whole"


@pytest.mark.parametrize(("with_children", "before"), [(True, ["subagent.announced"]), (False, [])])
def test_reports_of_sub_agents_before_the_run_starts_are_passed_on_if_wanted(
    reader: AnyReader, records: Records, with_children: bool, before: list[str]
) -> None:
    records.event("run.ended", run=OTHER, covers=["msg-0"])
    after = reader.result(ask(ReadLastEventId(SESSION)))
    records.receipt(MESSAGE, "answered", RUN)
    records.run(RUN, "ok")
    records.event("subagent.announced", batch="batch-2", runs=[{"run": "run-3"}])
    records.event("run.started", run=RUN, covers=[MESSAGE], worker="host/1/a")
    records.event("run.ended", run=RUN, covers=[MESSAGE])

    conversation = Conversation(SESSION, message=MESSAGE, after=after, with_children=with_children)

    assert follow(reader, conversation) == [*before, "run.started", "run.ended", "Ended"]


def test_after_a_gap_the_record_is_read_at_once(reader: AnyReader, records: Records) -> None:
    records.receipt(MESSAGE, "accepted")
    records.event("run.started", run=RUN, covers=[MESSAGE], worker="host/1/a")
    updates = reader.follow(Conversation(SESSION, message=MESSAGE).steps())
    assert isinstance(next(updates), Event)

    records.receipt(MESSAGE, "answered", RUN)
    records.run(RUN, "ok")
    records.event("text.delta", missed=3, run=OTHER, text="a later run")

    assert names(list(updates)) == ["Gap", "Ended"]


def test_after_silence_the_record_is_read(reader: AnyReader, records: Records) -> None:
    records.receipt(MESSAGE, "bound", RUN)
    records.run(RUN, "running")
    updates = reader.follow(Conversation(SESSION, message=MESSAGE, after="1-0", block_ms=50).steps())
    next(updates)

    records.receipt(MESSAGE, "answered", RUN)
    records.run(RUN, "ok")

    *_, last = updates
    assert isinstance(last, Ended), "no event said so"


def test_a_run_that_only_reads_the_message_does_not_answer_it(reader: AnyReader, records: Records) -> None:
    records.receipt(MESSAGE, "accepted")  # queue mode steer-backlog: it stays in the inbox for its own turn
    records.event("run.steered", run=OTHER, messages=[MESSAGE])
    records.event("run.ended", run=OTHER, covers=["msg-0"])
    conversation = Conversation(SESSION, message=MESSAGE, block_ms=50)
    next(reader.follow(conversation.steps()))
    assert conversation.run is None

    records.receipt(MESSAGE, "answered", RUN)
    records.run(RUN, "ok")
    records.event("run.started", run=RUN, covers=[MESSAGE], worker="host/1/a")
    records.event("run.ended", run=RUN, covers=[MESSAGE])

    assert follow(reader, conversation) == ["run.started", "run.ended", "Ended"]


def test_a_message_cancelled_before_its_turn_ends_the_wait(reader: AnyReader, records: Records) -> None:
    records.receipt(MESSAGE, "cancelled")

    [ended] = reader.follow(Conversation(SESSION, message=MESSAGE).steps())

    assert isinstance(ended, Ended)
    assert (ended.run, ended.receipt and ended.receipt.state) == (None, "cancelled")


def test_an_unknown_message_is_not_waited_for(reader: AnyReader) -> None:
    with pytest.raises(NotFound, match="msg-1 is not known"):
        list(reader.follow(Conversation(SESSION, message=MESSAGE).steps()))


def test_a_damaged_run_is_not_waited_for(reader: AnyReader, records: Records) -> None:
    records.run(RUN, "running")
    records.damage_run(RUN)
    with pytest.raises(NotFound, match="run-1 is not known"):
        list(reader.follow(Conversation(SESSION, run=RUN).steps()))


def test_the_wait_ends_at_the_deadline(reader: AnyReader, records: Records) -> None:
    records.receipt(MESSAGE, "bound", RUN)
    records.run(RUN, "running")
    conversation = Conversation(SESSION, message=MESSAGE, deadline=Deadline(0.1))
    with pytest.raises(WaitOver, match="run-1 continues"):
        list(reader.follow(conversation.steps()))


def test_a_session_nobody_uses_is_idle_and_has_no_workers(reader: AnyReader) -> None:
    assert reader.result(ask(ReadState(SESSION))).state == "idle"
    assert reader.result(ask(ReadWorkers())) == []


def test_the_reply_to_the_results_of_sub_agents_is_followed(reader: AnyReader, records: Records) -> None:
    records.child(CHILD, RUN, BATCH)
    records.batch(BATCH, "running", RUN, [CHILD])
    records.batch(BatchId("batch-2"), "running", OTHER, [RunId("run-9")])
    replies = LaterReplies(SESSION, deadline=Deadline(20), block_ms=50)
    reader.result(replies.add_run(RUN, "0"))
    assert [run.id for run in reader.result(replies.children())] == [CHILD]
    assert reader.result(replies.count_active()) == 1

    records.event("subagent.started", run=CHILD)
    updates = reader.follow(replies.next_reply())
    assert names([next(updates)]) == ["subagent.started"]
    records.batch(BATCH, "delivered", RUN, [CHILD], announced_at="5")
    records.receipt(MessageId("announce-batch-1"), "answered", OTHER)
    records.run(OTHER, "ok", text="all done")
    records.event("run.started", run=OTHER, covers=["announce-batch-1"], worker="host/1/a")
    records.event("run.ended", run=OTHER, covers=["announce-batch-1"])
    *seen, ended = list(updates)

    assert names(seen) == ["ReplyStarted", "run.started", "run.ended"]
    assert isinstance(ended, Ended)
    assert ended.run is not None
    assert ended.run.text == "all done"


def test_a_blocked_result_is_kept_and_not_waited_for(reader: AnyReader, records: Records) -> None:
    records.batch(BATCH, "blocked", RUN, [CHILD], last_error="no room")
    replies = LaterReplies(SESSION, block_ms=50)
    reader.result(replies.add_run(RUN, "0"))

    assert list(reader.follow(replies.next_reply())) == []
    assert [batch.last_error for batch in replies.blocked] == ["no room"]
