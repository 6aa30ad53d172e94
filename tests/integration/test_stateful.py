"""Inbox, lease and commit on a real Redis, compared with a simple model, for any order of calls by any worker."""

from __future__ import annotations

import json
import uuid
from collections import defaultdict
from dataclasses import dataclass, field, replace

import pytest
import redis
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from openclaw_workers.domain.messages import Authority, MessageState, QueueMode
from openclaw_workers.domain.runs import Lane, RunState
from openclaw_workers.domain.transcript import AssistantEntry, TextBlock, UserEntry
from openclaw_workers.errors import LeaseLost
from openclaw_workers.store.inbox import Accepted
from openclaw_workers.store.turn_records import Outcome, Taken
from tests.component.store.harness import SESSION, StoreHarness

MAX_ATTEMPTS = 2
SAID = AssistantEntry(content=[TextBlock(text="said")])

WORKERS = st.sampled_from(["w1", "w2", "w3"])
MODES = st.sampled_from([*[QueueMode.COLLECT, QueueMode.FOLLOWUP, QueueMode.STEER] * 2, QueueMode.INTERRUPT])
AUTHORITIES = st.sampled_from([Authority.OWNER, Authority.ANYONE])
COMMANDS = st.sampled_from([False] * 7 + [True])
DISTURBANCES = st.sampled_from(
    ["message repeated", "wake-up repeated", "commit repeated", "sweep", *["late write"] * 3, "stop", "reset"]
)


@dataclass(frozen=True)
class Message:
    id: str
    mode: QueueMode
    authority: Authority
    is_command: bool = False

    def merges_with(self, first: Message) -> bool:
        return (
            self.mode == first.mode == QueueMode.COLLECT
            and not self.is_command
            and not first.is_command
            and self.authority == first.authority
        )


@dataclass
class Model:
    """What the engine promises, without leases, clocks or scripts."""

    state: str = "idle"
    inbox: list[Message] = field(default_factory=list)
    bound: list[Message] = field(default_factory=list)
    settled: dict[str, str] = field(default_factory=dict)
    log: list[list[str]] = field(default_factory=list)
    """The message ids of each user entry of the transcript."""
    begun: bool = False
    moved: bool = False
    attempt: int = 1
    losses: int = 0
    stalls: int = 0
    stopped: str = ""
    """Why the current run has to end."""

    def accept(self, message: Message) -> bool:
        if message.mode is QueueMode.INTERRUPT and not message.is_command and self.state != "idle":
            self._cancel_waiting()
            if self.begun:
                self.stopped = "interrupt"
        self.inbox.append(message)
        wakes = self.state == "idle"
        if wakes:
            self._open()
        return wakes

    def take(self) -> None:
        self.state, self.moved = "running", False
        if self.begun:
            return
        self.begun = True
        first = self.inbox.pop(0)
        self.bound = [first]
        while self.inbox and self.inbox[0].merges_with(first):
            self.bound.append(self.inbox.pop(0))
        if not first.is_command:
            self.log.append([message.id for message in self.bound])

    def step(self) -> list[str]:
        self.moved = True
        if self.stopped:
            return []
        reachable = self.inbox
        for index, message in enumerate(self.inbox):
            if message.is_command:
                reachable = self.inbox[:index]
                break
        asked = self.bound[0].authority
        steered = [each for each in reachable if each.mode is QueueMode.STEER and each.authority.covers(asked)]
        self.inbox = [message for message in self.inbox if message not in steered]
        self.bound += steered
        self.log += [[message.id] for message in steered]
        return [message.id for message in steered]

    def end(self, state: str) -> None:
        self._settle(self.bound, state)
        self.bound, self.state, self.stopped = [], "idle", ""
        if self.inbox:
            self._open()

    def lose(self) -> bool:
        """The owner's lease ran out; True if that was the last attempt."""
        self.attempt += not self.moved
        self.stalls = 1 if self.moved else self.stalls + 1
        self.losses += 1
        given_up = self.stalls >= MAX_ATTEMPTS or self.losses > 3 * MAX_ATTEMPTS
        if not given_up:
            self.state = "queued"
        return given_up

    def hand_over(self) -> None:
        self.state = "queued"
        if self.moved:
            self.stalls = 0

    def stop(self) -> None:
        if self.state == "idle":
            return
        self._cancel_waiting()
        if self.begun:
            self.stopped = "killed"
        elif self.inbox:
            self._open()
        else:
            self.state = "idle"

    def reset(self) -> None:
        self._settle([*self.bound, *self.inbox], "cancelled")
        self.bound, self.inbox, self.log = [], [], []
        self.state, self.stopped = "idle", ""

    def _cancel_waiting(self) -> None:
        self._settle([message for message in self.inbox if not message.is_command], "cancelled")
        self.inbox = [message for message in self.inbox if message.is_command]

    def _open(self) -> None:
        self.state, self.begun = "queued", False
        self.attempt, self.losses, self.stalls = 1, 0, 0

    def _settle(self, messages: list[Message], state: str) -> None:
        for message in messages:
            assert message.id not in self.settled, "a message was settled twice"
            self.settled[message.id] = state


class Sessions(RuleBasedStateMachine):
    def __init__(self, client: redis.Redis) -> None:
        super().__init__()
        self.store = StoreHarness(client, f"t{uuid.uuid4().hex[:8]}")
        self.model = Model()
        self.messages: list[Message] = []
        self.owner: tuple[str, Taken] | None = None
        self.step_number = 0
        self.gone: list[tuple[str, Taken]] = []
        """Owners whose session was taken from them."""
        self.committed: tuple[str, Taken] | None = None
        self.fence = 0

    # Few rules with weighted choices: with one rule per call, most examples never reached a turn.

    @precondition(lambda self: len(self.model.inbox) < 5)
    @rule(messages=st.lists(st.tuples(MODES, AUTHORITIES, COMMANDS), min_size=1, max_size=3))
    def people_write(self, messages: list[tuple[QueueMode, Authority, bool]]) -> None:
        for mode, authority, is_command in messages:
            message = Message(f"m{len(self.messages)}", mode, authority, is_command)
            self.messages.append(message)
            accepted = self._send(message)
            if mode is QueueMode.INTERRUPT and authority is Authority.ANYONE:
                message = replace(message, mode=QueueMode.FOLLOWUP)  # strangers interrupt nobody
            assert accepted.duplicate is None
            assert (accepted.wake is not None) == self.model.accept(message)

    @precondition(lambda self: self.model.state != "idle")
    @rule(worker=WORKERS, repeated=st.booleans())
    def a_worker_goes_on(self, worker: str, repeated: bool) -> None:
        if self.owner is None:
            self.take(worker)
        else:
            self.step(repeated)

    @precondition(lambda self: self.owner)
    @rule(how=st.sampled_from(["commit", "lose", "lose", "release"]), repeated=st.booleans())
    def the_owner_is_done(self, how: str, repeated: bool) -> None:
        match how:
            case "commit":
                self.commit()
            case "release":
                self.release(repeated)
            case "lose":
                self.lease_runs_out()

    @precondition(lambda self: self.messages)
    @rule(what=DISTURBANCES, worker=WORKERS, data=st.data())
    def something_comes_in_between(self, what: str, worker: str, data: st.DataObject) -> None:
        match what:
            case "message repeated":
                accepted = self._send(data.draw(st.sampled_from(self.messages)))
                assert accepted.duplicate is not None
            case "wake-up repeated" if self.model.state != "queued":
                assert not isinstance(self.store.try_take(worker), Taken)
            case "commit repeated" if self.committed is not None:
                self.commit_again(*self.committed)
            case "sweep" if self.owner is not None:
                assert self.store.recover().verb == "wait"
            case "late write" if self.gone:
                self.late_write(*data.draw(st.sampled_from(self.gone)))
            case "stop":
                self.stop()
            case "reset":
                self.reset()

    def stop(self) -> None:
        stopped = self.store.stop()
        assert (stopped.run is None) == (self.model.state == "idle")
        self.model.stop()

    def reset(self) -> None:
        assert self.store.sessions.reset(SESSION, Lane.MAIN, cap=0) is not None
        self._lose_owner()
        self.model.reset()

    def take(self, worker: str) -> None:
        taken = self.store.take(worker)
        assert taken.resumed == self.model.begun
        assert taken.abort == self.model.stopped
        self.model.take()
        assert taken.attempt == self.model.attempt
        self.owner, self.step_number = (worker, taken), taken.step

    def step(self, repeated: bool) -> None:
        worker, taken = self._owner()
        self.step_number += 1
        expected = (self.model.stopped, self.model.step())
        for _ in range(1 + repeated):
            abort, steered = self.store.turns(worker).step(taken.lease, self.step_number, [SAID], may_steer=True)
            assert (abort, [entry["messageIds"][0] for entry in steered]) == expected

    def commit(self) -> None:
        worker, taken = self._owner()
        self.committed, self.owner = (worker, taken), None
        stopped = self.model.stopped
        committed = self.store.commit(
            taken,
            worker=worker,
            entries=[SAID],
            state=RunState.KILLED if stopped else RunState.OK,
            messages=MessageState.CANCELLED if stopped else MessageState.ANSWERED,
        )
        self.model.end("cancelled" if stopped else "answered")
        assert (committed.next_run is not None) == (self.model.state == "queued")

    def commit_again(self, worker: str, taken: Taken) -> None:
        entries = len(self.store.log())
        self.store.commit(taken, worker=worker, entries=[SAID])
        assert len(self.store.log()) == entries

    def release(self, repeated: bool) -> None:
        worker, taken = self._owner()
        for _ in range(1 + repeated):
            self.store.turns(worker).release(taken.lease)
        self.owner = None
        self.model.hand_over()

    def lease_runs_out(self) -> None:
        self.store.expire()
        recover = self.store.recover(max_attempts=MAX_ATTEMPTS)
        self._lose_owner()
        given_up = self.model.lose()
        assert recover.verb == ("settle" if given_up else "end" if self.model.stopped else "wake")
        if recover.lease is not None:
            outcome = Outcome(RunState.ERROR, "lost", MessageState.FAILED)
            self.store.turns("sweeper").commit(recover.lease, "main", outcome)
            self.model.end("failed")

    def late_write(self, worker: str, taken: Taken) -> None:
        turns = self.store.turns(worker)
        with pytest.raises(LeaseLost):
            turns.step(taken.lease, taken.step + 50, [SAID], may_steer=True)
        with pytest.raises(LeaseLost):
            turns.emit(taken.lease, [{"type": "text.delta", "data": {}}])
        with pytest.raises(LeaseLost):
            turns.release(taken.lease)
        with pytest.raises(LeaseLost):
            self.store.commit(taken, worker=worker, entries=[SAID])

    # what always holds

    @invariant()
    def every_message_is_in_exactly_one_place(self) -> None:
        waiting, bound = self.store.waiting(), self.store.bound()
        assert waiting == [message.id for message in self.model.inbox]
        assert sorted(bound) == sorted(message.id for message in self.model.bound)
        places = {**dict.fromkeys(waiting, "accepted"), **dict.fromkeys(bound, "bound"), **self.model.settled}
        assert len(places) == len(waiting) + len(bound) + len(self.model.settled)
        receipts = self.store.redis.hgetall(self.store.keys.receipts(SESSION))
        assert {str(name): json.loads(str(raw))["state"] for name, raw in dict(receipts).items()} == places

    @invariant()
    def there_is_at_most_one_owner_and_the_fence_only_grows(self) -> None:
        lease = self.store.ctl("lease")
        assert lease == (self.owner[1].lease.token if self.owner else "")
        fence = int(self.store.ctl("fence") or 0)
        assert fence >= self.fence
        self.fence = fence
        assert self.store.ctl("state") in ("", self.model.state)
        assert self.store.reader.running() == ([SESSION] if self.model.state == "running" else [])
        assert (self.store.due_at() is None) == (self.model.state == "idle"), "due and idle do not match"

    @invariant()
    def the_transcript_holds_each_message_once_in_order_of_arrival(self) -> None:
        carried = [entry.message_ids for entry in self.store.log() if isinstance(entry, UserEntry)]
        assert carried == self.model.log
        order = [self.messages[int(each.removeprefix("m"))] for ids in carried for each in ids]
        assert len(set(order)) == len(order)
        # A message of somebody trusted less is not steered in, so that others may overtake it.
        numbers: dict[str, list[int]] = defaultdict(list)
        for message in order:
            group = message.authority if message.mode is QueueMode.STEER else "not steered"
            numbers[group].append(int(message.id.removeprefix("m")))
        assert all(each == sorted(each) for each in numbers.values())

    def teardown(self) -> None:
        """When the faults stop, everything that was accepted is settled."""
        while self.model.state != "idle":
            if self.model.state == "queued":
                self.take("w1")
            self.commit()
        self.every_message_is_in_exactly_one_place()
        assert self.model.settled.keys() == {message.id for message in self.messages}
        assert self.store.ctl("state") in ("", "idle")
        assert not isinstance(self.store.try_take("w1"), Taken), "a late wake-up took a turn"

    def _send(self, message: Message) -> Accepted:
        accepted = self.store.say(
            "hi",
            id=message.id,
            mode=message.mode,
            authority=message.authority,
            kind="command" if message.is_command else "user",
            cap=1000,
        )
        assert isinstance(accepted, Accepted)
        return accepted

    def _owner(self) -> tuple[str, Taken]:
        assert self.owner is not None
        return self.owner

    def _lose_owner(self) -> None:
        if self.owner is not None:
            self.gone.append(self.owner)
            self.owner = None


def test_no_order_of_calls_breaks_a_promise(redis_client: redis.Redis) -> None:
    run_state_machine_as_test(
        lambda: Sessions(redis_client),  # type: ignore[arg-type] # any factory will do
        settings=settings(max_examples=60, stateful_step_count=40, deadline=None),
    )
