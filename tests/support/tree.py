"""Reads session trees, and asserts I4 once a tree has drained."""

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
from tests.support.checker import Remaining, check_no_overlap, check_sequence, undrained
from tests.support.tree_follow_ups import check_read, is_follow_up, readings, words
from tests.support.waiting import eventually

CARRIED_UP = (BatchState.FOLDED, BatchState.ATTACHED)
NOT_ANNOUNCED = (BatchState.NONE, BatchState.ARCHIVED, BatchState.NOBODY)
WORDS = {"ok": "completed", "error": "failed", "timeout": "timed out", "unknown": "lost"}
_BLOCK = re.compile(r"^--- [\d.]+\n.*?^status: (?P<status>.*?)$.*?• run: (?P<run>\S+)$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Announced:
    """One child in one announce that a session received."""

    session: SessionKey
    status: str


def announces(transcript: Sequence[TranscriptEntry]) -> list[str]:
    """The texts of the announces that a session received."""
    return [
        block.text
        for entry in transcript
        if isinstance(entry, UserEntry) and entry.provenance == "subagent"
        for block in entry.content
    ]


def children_of(stores: Stores, root: SessionKey | None = None) -> list[Run]:
    """All child runs of a tree, or of all trees, in spawn order."""
    runs = [run for run in stores.reader.runs(limit=100_000) if run.is_child and root in (None, run.root_session_key)]
    return sorted(runs, key=lambda run: (run.queued_at, run.batch or "", run.batch_index))


def batch_of(stores: Stores, run: Run) -> Batch:
    assert run.batch is not None, f"{run.id} is not a child"
    batch = stores.tree.batch(BatchId(run.batch))
    assert batch is not None, f"the batch of {run.id} is gone"
    return batch


def check_tree(stores: Stores, root: SessionKey | None = None, *, within: float = 60) -> list[Run]:
    """Wait until the tree (or every tree) has drained, assert I4, and return its child runs."""
    eventually(lambda: Remaining(unfinished(stores, root)), within=within)
    runs = {run.id: run for run in children_of(stores, root)}
    sessions = _sessions(runs.values(), root)
    for session in sessions:
        transcript = stores.reader.transcript(session)
        check_sequence(transcript)
        check_no_overlap(transcript)
    for run in runs.values():
        check_settled(stores, run)
    announced, read = _announced(stores, sessions), readings(stores, sessions)
    batches = {run.batch: batch_of(stores, run) for run in runs.values()}
    for batch in batches.values():
        _check_batch(stores, batch, runs)
    for run in runs.values():
        _check_announced(stores, run, runs, announced[run.id])
        check_read(stores, run, batches[run.batch], read[run.id], len(announced[run.id]))
    _check_limits(stores, [run for run in runs.values() if not is_follow_up(run)])
    return list(runs.values())


def unfinished(stores: Stores, root: SessionKey | None = None) -> list[str]:
    """I8 for trees: everything that still runs, waits or is listed somewhere."""
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
    # Last: a result announced since the batches were read is in its parent's inbox by now.
    return left + undrained(stores, alive)


def check_settled(stores: Stores, run: Run) -> None:
    """It has settled, and its recorded result is its last answer."""
    assert run.state.is_final, f"{run.id} is {run.state}"
    assert run.settled_at is not None, f"{run.id} never settled"
    entries = [entry for entry in stores.reader.transcript(run.session_key) if entry.run_id == run.id]
    said = words(entries)
    if run.state is RunState.OK:
        assert not said or run.text == said[-1], f"the record of {run.id} has {run.text!r}, its transcript {said}"
    else:
        assert run.error, f"{run.id} is {run.state} without an error"


def _check_batch(stores: Stores, batch: Batch, runs: dict[RunId, Run]) -> None:
    assert not batch.state.is_pending, f"{batch.id} is {batch.state}"
    assert batch.announced_at is not None
    assert [member for member in batch.members if member not in runs] == []
    for member in batch.members:
        assert batch.announced_at >= (runs[member].settled_at or 0), f"{batch.id} was announced before {member} settled"
    events = stores.reader.events(batch.parent_session, "0", count=5000)
    announced = [event for event in events if event.type == "subagent.announced" and event.data["batch"] == batch.id]
    # A batch its parent waits for is not announced, except if the parent ends without reading it.
    announced = [event for event in announced if event.data["how"] != BatchState.NONE] or announced
    gone = not stores.redis.exists(stores.keys.ctl(batch.parent_session))
    assert gone or len(announced) == 1, f"{batch.id} was announced {len(announced)} times"


def _check_announced(stores: Stores, run: Run, runs: dict[RunId, Run], announced: list[Announced]) -> None:
    """I4: it is in exactly one announce, sent to the right session."""
    recipient = _recipient(stores, run, runs)
    expected = [recipient] if recipient else []
    assert [each.session for each in announced] == expected, (
        f"{run.id} ({run.state}) was announced as {announced}, not to {expected}"
    )
    for each in announced:
        assert each.status.startswith(WORDS[run.outcome or ""]), (
            f"{run.id} is {run.state}, announced as {each.status!r}"
        )


def _recipient(stores: Stores, run: Run, runs: dict[RunId, Run]) -> SessionKey | None:
    batch = batch_of(stores, run)
    if run.announce is AnnounceMode.NONE:
        return None
    if batch.state in NOT_ANNOUNCED:
        above = stores.reader.session(batch.parent_session)
        still_exists = above is not None and above.session_id == batch.parent_session_id
        assert not still_exists, f"{batch.id} is {batch.state}, although {batch.parent_session} still exists"
        return None
    if batch.state in CARRIED_UP:
        return _recipient(stores, runs[batch.folded_into or batch.parent_run], runs)
    assert batch.state is BatchState.DELIVERED, f"{batch.id} is {batch.state}: {batch.last_error}"
    row = stores.reader.session(batch.parent_session)
    if row is None or row.session_id != batch.parent_session_id:
        return None  # announced to an earlier session id
    receipt = stores.inbox.receipt(batch.parent_session, MessageId(f"announce-{batch.id}"))
    assert receipt is not None, f"{batch.id} is delivered and left no receipt"
    started = receipt.run is not None
    return batch.parent_session if started or receipt.state is not MessageState.CANCELLED else None


def _announced(stores: Stores, sessions: Iterable[SessionKey]) -> defaultdict[RunId, list[Announced]]:
    announced: defaultdict[RunId, list[Announced]] = defaultdict(list)
    for session in sessions:
        for text in announces(stores.reader.transcript(session)):
            for block in _BLOCK.finditer(text):
                announced[RunId(block["run"])].append(Announced(session, block["status"]))
    return announced


def _check_limits(stores: Stores, runs: Sequence[Run]) -> None:
    """Check, by the records, how many runs of one parent and of one tree were unsettled at the same time.

    Only spawned runs count: a message to a settled child starts a run whatever the limits are.
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
