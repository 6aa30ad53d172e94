"""Session trees under test: ways to look at one, and to assert I4 once it is at rest."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from openclaw_workers.domain.ids import BatchId, MessageId, RunId, SessionKey
from openclaw_workers.domain.messages import MessageState
from openclaw_workers.domain.runs import Run, RunState
from openclaw_workers.domain.transcript import TranscriptEntry, UserEntry
from openclaw_workers.domain.tree import AnnounceMode, Batch, BatchState
from openclaw_workers.engine.stores import Stores
from openclaw_workers.store.keys import BATCH, STOP_CHILDREN
from tests.support.checker import Unrest, check_no_overlap, check_sequence, undrained
from tests.support.tree_follow_ups import check_read, is_follow_up, readings, words
from tests.support.waiting import eventually

CARRIED_UP = (BatchState.FOLDED, BatchState.ATTACHED)
TOLD_NOBODY = (BatchState.NONE, BatchState.ARCHIVED, BatchState.NOBODY)
WORDS = {"ok": "completed", "error": "failed", "timeout": "timed out", "unknown": "lost"}
_BLOCK = re.compile(r"^--- [\d.]+\n.*?^status: (?P<status>.*?)$.*?• run: (?P<run>\S+)$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Heard:
    """One child in one announce that a session was given."""

    session: SessionKey
    status: str


def announces(transcript: Sequence[TranscriptEntry]) -> list[str]:
    """The texts of the results a session was given, one for each announce."""
    return [
        block.text
        for entry in transcript
        if isinstance(entry, UserEntry) and entry.provenance == "subagent"
        for block in entry.content
    ]


def children_of(stores: Stores, root: SessionKey | None = None) -> list[Run]:
    """All runs below a root session, or below any, in the order of spawning."""
    runs = [run for run in stores.reader.runs(limit=100_000) if run.is_child and root in (None, run.root_session_key)]
    return sorted(runs, key=lambda run: (run.queued_at, run.batch or "", run.batch_index))


def batch_of(stores: Stores, run: Run) -> Batch:
    assert run.batch is not None, f"{run.id} is nobody's child"
    batch = stores.tree.batch(BatchId(run.batch))
    assert batch is not None, f"the batch of {run.id} is gone"
    return batch


def check_tree(stores: Stores, root: SessionKey | None = None, *, within: float = 60) -> list[Run]:
    """Wait until the tree (or every tree) is at rest, assert I4 and all that goes with it, and return its children."""
    eventually(lambda: Unrest(restless(stores, root)), within=within)
    runs = {run.id: run for run in children_of(stores, root)}
    sessions = _sessions(runs.values(), root)
    for session in sessions:
        transcript = stores.reader.transcript(session)
        check_sequence(transcript)
        check_no_overlap(transcript)
    for run in runs.values():
        check_settled(stores, run)
    heard, read = _heard(stores, sessions), readings(stores, sessions)
    batches = {run.batch: batch_of(stores, run) for run in runs.values()}
    for batch in batches.values():
        _check_batch(stores, batch, runs)
    for run in runs.values():
        _check_heard(stores, run, runs, heard[run.id])
        check_read(stores, run, batches[run.batch], read[run.id], len(heard[run.id]))
    _check_limits(stores, [run for run in runs.values() if not is_follow_up(run)])
    return list(runs.values())


def restless(stores: Stores, root: SessionKey | None = None) -> list[str]:
    """I8 for trees: what still works, waits, or is on somebody's list."""
    redis, keys = stores.redis, stores.keys
    runs = children_of(stores, root)
    sessions = _sessions(runs, root)
    alive = [session for session in sessions if redis.exists(keys.row(session))]
    left = [
        f"due: {item}" for item in map(str, redis.zrange(keys.due, 0, -1)) if item.startswith((BATCH, STOP_CHILDREN))
    ]
    left += [f"stop order: {session}" for session in map(str, redis.hkeys(keys.stop_orders))]
    left += [f"{run.id} is {run.state}" for run in runs if not run.state.is_final or run.settled_at is None]
    for session in sessions:
        for key in (keys.batches(session), keys.live(session), keys.tree(session), keys.waiters(session)):
            if redis.exists(key):
                left.append(f"left: {key}")
    left += [f"open: {run.batch}" for run in runs if run.batch and redis.exists(keys.open(run.batch))]
    # Last: a result that was announced since the look at the batches is in its parent's inbox by now.
    return left + undrained(stores, alive)


def check_settled(stores: Stores, run: Run) -> None:
    """Settled once and truthfully: what is recorded as its result is the last thing it said."""
    assert run.state.is_final, f"{run.id} is {run.state}"
    assert run.settled_at is not None, f"{run.id} never settled"
    entries = [entry for entry in stores.reader.transcript(run.session_key) if entry.run_id == run.id]
    said = words(entries)
    if run.state is RunState.OK:
        assert not said or run.text == said[-1], f"the record of {run.id} has {run.text!r}, and it said {said}"
    else:
        assert run.error, f"{run.id} is {run.state} and does not say why"


def _check_batch(stores: Stores, batch: Batch, runs: dict[RunId, Run]) -> None:
    assert not batch.state.is_pending, f"{batch.id} is {batch.state}"
    assert batch.announced_at is not None
    assert [member for member in batch.members if member not in runs] == []
    for member in batch.members:
        assert batch.announced_at >= (runs[member].settled_at or 0), f"{batch.id} was announced before {member} settled"
    events = stores.reader.events(batch.parent_session, "0", count=5000)
    told = [event for event in events if event.type == "subagent.announced" and event.data["batch"] == batch.id]
    # One that its parent waited for is announced to nobody, and then after all if the parent ended without reading it.
    told = [event for event in told if event.data["how"] != BatchState.NONE] or told
    gone = not stores.redis.exists(stores.keys.ctl(batch.parent_session))
    assert gone or len(told) == 1, f"{batch.id} was announced {len(told)} times"


def _check_heard(stores: Stores, run: Run, runs: dict[RunId, Run], heard: list[Heard]) -> None:
    """I4: in exactly one announce, of exactly the session that is to hear of it."""
    hearer = _hearer(stores, run, runs)
    expected = [hearer] if hearer else []
    assert [each.session for each in heard] == expected, f"{run.id} ({run.state}) was told to {heard}, not {expected}"
    for each in heard:
        assert each.status.startswith(WORDS[run.outcome or ""]), f"{run.id} is {run.state}, told as {each.status!r}"


def _hearer(stores: Stores, run: Run, runs: dict[RunId, Run]) -> SessionKey | None:
    batch = batch_of(stores, run)
    if run.announce is AnnounceMode.NONE:
        return None
    if batch.state in TOLD_NOBODY:
        above = stores.reader.session(batch.parent_session)
        lives_on = above is not None and above.session_id == batch.parent_session_id
        assert not lives_on, f"{batch.id} is {batch.state}, and {batch.parent_session} is still there to hear it"
        return None
    if batch.state in CARRIED_UP:
        return _hearer(stores, runs[batch.folded_into or batch.parent_run], runs)
    assert batch.state is BatchState.DELIVERED, f"{batch.id} is {batch.state}: {batch.last_error}"
    row = stores.reader.session(batch.parent_session)
    if row is None or row.session_id != batch.parent_session_id:
        return None  # told to a life that is over
    receipt = stores.inbox.receipt(batch.parent_session, MessageId(f"announce-{batch.id}"))
    assert receipt is not None, f"{batch.id} is delivered and left no receipt"
    started = receipt.run is not None
    return batch.parent_session if started or receipt.state is not MessageState.CANCELLED else None


def _heard(stores: Stores, sessions: Iterable[SessionKey]) -> defaultdict[RunId, list[Heard]]:
    heard: defaultdict[RunId, list[Heard]] = defaultdict(list)
    for session in sessions:
        for text in announces(stores.reader.transcript(session)):
            for block in _BLOCK.finditer(text):
                heard[RunId(block["run"])].append(Heard(session, block["status"]))
    return heard


def _check_limits(stores: Stores, runs: Sequence[Run]) -> None:
    """By the records: unsettled runs of one parent, and of one tree, at the same time.

    As they were spawned: a person's message to a child that has settled starts a run whatever the limits are.
    """
    limits = stores.settings.agents.defaults.subagents
    by_parent, by_root = defaultdict(list), defaultdict(list)
    for run in runs:
        by_parent[run.requester_session_key].append(run)
        by_root[run.root_session_key].append(run)
        assert run.depth <= limits.max_spawn_depth, f"{run.id} is {run.depth} deep"
    assert max(map(_most_at_once, by_parent.values()), default=0) <= limits.max_children_per_agent
    assert max(map(_most_at_once, by_root.values()), default=0) <= limits.max_tree_runs


def _most_at_once(runs: Sequence[Run]) -> int:
    moments = [(run.queued_at, 1) for run in runs] + [(run.settled_at or 0, -1) for run in runs]
    now = most = 0
    for _, change in sorted(moments):
        now += change
        most = max(most, now)
    return most


def _sessions(runs: Iterable[Run], root: SessionKey | None) -> list[SessionKey]:
    found = {run.session_key for run in runs} | {run.root_session_key for run in runs if run.root_session_key}
    return sorted(found | ({root} if root else set()))
