"""Reads what a fleet stored about accepted messages and asserts the invariants of docs/internals.md."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import groupby

from openclaw_workers.domain.accepted import Queued
from openclaw_workers.domain.ids import MessageId, RunId, SessionKey
from openclaw_workers.domain.ledger import ModelCall
from openclaw_workers.domain.messages import MessageState
from openclaw_workers.domain.receipt import Receipt
from openclaw_workers.domain.runs import Lane, Run, RunState
from openclaw_workers.domain.transcript import (
    AssistantEntry,
    NoticeEntry,
    ToolCallBlock,
    ToolResultEntry,
    TranscriptEntry,
    Usage,
    UserEntry,
)
from openclaw_workers.engine.stores import Stores
from openclaw_workers.store.keys import TURN
from openclaw_workers.store.llm.ledger import Ledger
from tests.support.waiting import eventually

UNSETTLED = (MessageState.ACCEPTED, MessageState.BOUND)
IN_A_RUN = (MessageState.ANSWERED, MessageState.FAILED)


def check(stores: Stores, sent: Iterable[Queued], *, one_each: bool = False, within: float = 60) -> None:
    """Wait until everything has drained (I8), then assert I1, I2 and I3 for the sent messages.

    `one_each` is for mode followup: each message has its own turn and exactly one final answer.
    """
    by_session: defaultdict[SessionKey, list[MessageId]] = defaultdict(list)
    for queued in sent:
        by_session[queued.session_key].append(queued.message_id)
    eventually(lambda: Remaining(undrained(stores, by_session)), within=within)
    runs: defaultdict[SessionKey, dict[RunId, Run]] = defaultdict(dict)
    for run in stores.reader.runs(limit=100_000):
        runs[run.session_key][run.id] = run
    for session, messages in by_session.items():
        check_session(stores, session, messages, runs[session], one_each=one_each)


class Remaining(list[str]):
    """What has not drained yet. True when empty, so that `eventually` shows the list if it never empties."""

    def __bool__(self) -> bool:
        return len(self) == 0


def undrained(stores: Stores, sessions: Iterable[SessionKey]) -> list[str]:
    """I8: everything that still runs, waits, or holds a lease or a slot."""
    redis, keys = stores.redis, stores.keys

    def members(key: str) -> list[str]:
        return [str(member) for member in redis.zrange(key, 0, -1)]

    left = [f"running: {session}" for session in members(keys.running)]
    left += [f"due: {item}" for item in members(keys.due) if item.startswith(TURN)]
    for lane in Lane:
        left += [f"slot: {session}" for session in members(keys.slots(lane))]
        left += [f"in line: {place}" for place in members(keys.line(lane))]
    for session in sessions:
        state, lease = redis.hmget(keys.ctl(session), ["state", "lease"])
        waiting, bound = redis.zcard(keys.inbox(session)), redis.zcard(keys.bound(session))
        if state != "idle" or lease or waiting or bound:
            left.append(f"{session}: {state!r}, lease {lease!r}, {waiting} waiting, {bound} bound")
    return left


def check_session(
    stores: Stores,
    session: SessionKey,
    messages: Sequence[MessageId],
    runs: dict[RunId, Run],
    *,
    one_each: bool = False,
) -> None:
    """Assert I1, I2 and I3 for one drained session; `runs` are all its runs."""
    receipts = {message: _receipt(stores, session, message) for message in messages}
    transcript = stores.reader.transcript(session)
    check_receipts(receipts, runs)
    check_sequence(transcript)
    check_no_overlap(transcript)
    check_order(transcript, receipts)
    if one_each:
        check_one_each(transcript, receipts, runs)


def check_receipts(receipts: dict[MessageId, Receipt], runs: dict[RunId, Run]) -> None:
    """I1: each message has one final receipt; exactly one successful run covers an answered message.

    A child's run may answer one message and then continue with the next. Its state is that of its last turn.
    """
    for message, receipt in receipts.items():
        assert receipt.state not in UNSETTLED, f"{message} is still {receipt.state}"
        covering = [run for run in runs.values() if message in run.covers]
        if receipt.state in IN_A_RUN:
            assert [run.id for run in covering] == [receipt.run], f"{message} is covered by {covering}"
            good = covering[0].state is RunState.OK
            continued = any(attempt.end in ("continued", "parked") for attempt in covering[0].attempts)
            agree = good == (receipt.state is MessageState.ANSWERED)
            assert agree or continued, f"{message} is {receipt.state} by {covering[0]}"
        else:
            assert not [run for run in covering if run.state is RunState.OK], f"{message}: {receipt} and {covering}"
    for run in runs.values():
        assert run.state.is_final, f"{run.id} is still {run.state}"
        assert len(set(run.covers)) == len(run.covers), f"{run.id} covers a message twice: {run.covers}"


def check_sequence(transcript: Sequence[TranscriptEntry]) -> None:
    """I2: every answer follows a question, and every tool call is directly followed by its one result."""
    open_calls: list[ToolCallBlock] = []
    asked = False
    for index, entry in enumerate(transcript):
        at = f"entry {index} of {[each.role for each in transcript]}"
        match entry:
            case ToolResultEntry():
                assert open_calls, f"a result without a call: {at}"
                assert entry.tool_call_id == open_calls.pop(0).id, f"a result for another call: {at}"
                asked = True
            case UserEntry():
                assert not open_calls, f"a call without its result: {at}"
                asked = True
            case AssistantEntry():
                assert not open_calls, f"a call without its result: {at}"
                assert asked, f"an answer to nothing: {at}"
                open_calls, asked = list(entry.tool_calls), False
            case NoticeEntry():
                assert not open_calls, f"a call without its result: {at}"
    assert not open_calls, f"the last calls have no result: {open_calls}"


def check_no_overlap(transcript: Sequence[TranscriptEntry]) -> None:
    """I2: the entries of each run are contiguous."""
    blocks = [run for run, _ in groupby(entry.run_id for entry in transcript)]
    assert len(blocks) == len(set(blocks)), f"turns overlap: {blocks}"


def check_order(transcript: Sequence[TranscriptEntry], receipts: dict[MessageId, Receipt]) -> None:
    """I3: each message entered the transcript once, in order of arrival."""
    entered = [message for entry in transcript if isinstance(entry, UserEntry) for message in entry.message_ids]
    doubled = [message for message, times in Counter(entered).items() if times > 1]
    assert not doubled, f"entered more than once: {doubled}"
    ours = [message for message in entered if message in receipts]
    arrived = sorted(ours, key=lambda message: receipts[MessageId(message)].seq or 0)
    assert ours == arrived, f"entered as {ours}, arrived as {arrived}"
    missing = [m for m, receipt in receipts.items() if receipt.state in IN_A_RUN and m not in entered]
    assert not missing, f"settled by a turn that did not contain them: {missing}"


def check_one_each(
    transcript: Sequence[TranscriptEntry], receipts: dict[MessageId, Receipt], runs: dict[RunId, Run]
) -> None:
    """Mode followup: each answered message has one turn and one final answer, in order."""
    answered = [m for m, receipt in receipts.items() if receipt.state is MessageState.ANSWERED]
    for message in answered:
        run = receipts[message].run
        assert run is not None
        assert runs[run].covers == [message], f"{run} covers {runs[run].covers}"
    answers = [entry for entry in transcript if isinstance(entry, AssistantEntry) and not entry.tool_calls]
    by = Counter(entry.run_id for entry in answers if entry.stop_reason == "stop")
    in_order = sorted(answered, key=lambda message: receipts[message].seq or 0)
    assert [(run, by[run]) for run in by if run in runs] == [(receipts[message].run, 1) for message in in_order]


def _receipt(stores: Stores, session: SessionKey, message: MessageId) -> Receipt:
    receipt = stores.inbox.receipt(session, message)
    assert receipt is not None, f"accepted message {message} left no receipt (I1)"
    return receipt


def check_ledger(stores: Stores, *, within: float = 30) -> None:
    """I9: the usage of each run is the sum of its calls in the ledger, and no call is there twice.

    Some calls arrive late: a paused worker records its call when it wakes up, and the sweep records the call of a dead
    worker whose run has no next owner.
    """
    eventually(lambda: Remaining(_lost_calls(stores)), within=within)
    eventually(lambda: Remaining(ledger_errors(stores)), within=within)


def ledger_errors(stores: Stores) -> list[str]:
    calls: defaultdict[RunId, list[ModelCall]] = defaultdict(list)
    for call in Ledger(stores.redis, stores.keys).calls(days=2):
        calls[call.run].append(call)
    wrong = [f"{name} is in the ledger {times} times" for name, times in _ids(calls.values()).items() if times > 1]
    runs = {run.id: run for run in stores.reader.runs(limit=100_000)}
    roots = {run.session_key: run.root_session_key for run in runs.values() if run.root_session_key}
    wrong += [f"calls of {run}, which has no record" for run in calls.keys() - runs.keys()]
    for run in runs.values():
        used, cost, own = Usage(), 0.0, calls[run.id]
        for call in own:
            used, cost = used.plus(call.usage), cost + call.cost
        if run.usage != used or abs(run.cost - cost) > 1e-9:
            wrong.append(f"{run.id} says {run.usage} for ${run.cost}, its calls add up to {used} for ${cost}: {own}")
        root = roots.get(run.session_key, run.session_key)
        wrong += [f"{call.id} is recorded for the tree {call.tree}, not {root}" for call in own if call.tree != root]
        wrong += [f"{call.id} is recorded for {call.session}" for call in own if call.session != run.session_key]
    return wrong


def _ids(calls: Iterable[Sequence[ModelCall]]) -> Counter[str]:
    return Counter(call.id for each in calls for call in each)


def _lost_calls(stores: Stores) -> list[str]:
    """Calls of reset or deleted runs that neither the owner nor the sweep has recorded yet."""
    return [f"lost call: {name!s}" for name in stores.redis.hkeys(stores.keys.lost_calls)]
