"""Queue modes, drop policies, slash commands, fairness, deadlines and resets, with a real worker process."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from openclaw_workers.domain.accepted import Answered, Queued, Rejected
from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.domain.messages import Authority, MessageState, QueueMode, Route
from openclaw_workers.domain.runs import RunState
from openclaw_workers.domain.transcript import UserEntry
from openclaw_workers.engine.client_graph import intake_of
from openclaw_workers.engine.intake.accept import Intake
from tests.support.fleet import Fleet
from tests.support.programs import Program, Step, as_text, call, execute, program, say
from tests.support.waiting import eventually

CONFIG = {
    "agents": {"list": [{"id": "main", "default": True}, {"id": "hasty", "timeoutSeconds": 1}]},
    "messages": {"queue": {"mode": "collect", "byChannel": {f"by-{mode}": mode.value for mode in QueueMode}}},
    "session": {
        "resetByChannel": {
            "idle": {"mode": "idle", "idleMinutes": 5},
            "daily": {"mode": "daily", "atHour": 4},
            "never": {"mode": "none"},
        }
    },
}
DAY_MS = 86_400_000


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """One worker for all tests; each test has its own session."""
    with Fleet(tmp_path_factory.mktemp("queue-modes"), CONFIG) as running:
        running.worker(concurrency=8)
        yield running


@pytest.fixture(scope="module")
def prefork_fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """The same with a prefork worker."""
    with Fleet(tmp_path_factory.mktemp("prefork"), CONFIG) as running:
        running.worker(concurrency=2, pool="prefork")
        yield running


@pytest.fixture(params=["threads", "prefork"])
def either_fleet(request: pytest.FixtureRequest) -> Fleet:
    name = "prefork_fleet" if request.param == "prefork" else "fleet"
    found: Fleet = request.getfixturevalue(name)
    return found


class Chat:
    """One session; its messages come from the owner by default."""

    numbers = itertools.count(1)

    def __init__(
        self, fleet: Fleet, *, channel: str = "cli", agent: str = "main", intake: Intake | None = None
    ) -> None:
        self.fleet = fleet
        self.name = f"chat-{next(self.numbers)}"
        self.key = SessionKey(f"agent:{agent}:{self.name}")
        self.channel = channel
        self.intake = intake or fleet.intake

    def post(
        self, message: str | Program, *, to: str = "", authority: Authority = Authority.OWNER, channel: str = ""
    ) -> Queued | Rejected | Answered:
        route = Route(channel=channel or self.channel, to=to)
        return self.intake.accept(as_text(message), session=self.key, route=route, authority=authority)

    def send(self, message: str | Program, **how: object) -> Queued:
        queued = self.post(message, **how)  # type: ignore[arg-type]
        assert isinstance(queued, Queued), queued
        return queued

    def command(self, text: str) -> str:
        answered = self.post(text)
        assert isinstance(answered, Answered), answered
        return answered.text

    def busy(self, *after: Step) -> Queued:
        """Start a turn that waits in a tool until `go`, and return when it does."""
        begun = self.fleet.workspace / f"{self.name}.begun"
        wait = f"touch {begun.name}; until [ -e {self.name}.go ]; do sleep 0.02; done"
        queued = self.send(program(call(execute(wait), text="Working."), *(after or [say("first")])))
        eventually(begun.exists, within=20)
        return queued

    def go(self) -> None:
        (self.fleet.workspace / f"{self.name}.go").touch()

    def text(self, queued: Queued) -> str:
        return self.fleet.outcome(queued, within=20).text

    def state(self, queued: Queued) -> str:
        return self.fleet.outcome(queued, within=20).receipt.state

    def runs(self, *sent: Queued) -> list[str]:
        """Which run settled each message, as letters in order of first appearance."""
        ids = [str(self.fleet.outcome(queued, within=20).receipt.run) for queued in sent]
        letters = {run: chr(ord("a") + n) for n, run in enumerate(dict.fromkeys(ids))}
        return [letters[run] for run in ids]

    def users(self) -> list[UserEntry]:
        entries = self.fleet.stores.reader.transcript(self.key)
        return [entry for entry in entries if isinstance(entry, UserEntry)]

    def roles(self) -> list[str]:
        return [entry.role for entry in self.fleet.stores.reader.transcript(self.key)]


def answer(text: str) -> Program:
    return program(say(text))


MakeChat = Callable[[QueueMode], Chat]


@pytest.fixture(params=["by default", "by channel", "by session", "by channel, prefork"])
def in_mode(request: pytest.FixtureRequest) -> MakeChat:
    """A chat in a queue mode, set in each of the three ways, with either pool."""
    fleet: Fleet = request.getfixturevalue("prefork_fleet" if "prefork" in request.param else "fleet")

    def make(mode: QueueMode) -> Chat:
        if request.param.startswith("by channel"):
            return Chat(fleet, channel=f"by-{mode}")
        if request.param == "by default":
            messages = fleet.settings.messages
            queue = messages.queue.model_copy(update={"mode": mode})
            settings = fleet.settings.model_copy(update={"messages": messages.model_copy(update={"queue": queue})})
            return Chat(fleet, intake=intake_of(replace(fleet.stores, settings=settings), fleet.waker))
        chat = Chat(fleet, channel="by-reject")
        chat.text(chat.send(answer("hello")))
        chat.command(f"/queue {mode}")
        return chat

    return make


def test_collect_answers_waiting_messages_together(in_mode: MakeChat) -> None:
    chat = in_mode(QueueMode.COLLECT)
    first = chat.busy()
    sent = [chat.send(answer(text)) for text in ("one", "two", "three")]
    chat.go()

    assert chat.runs(first, *sent) == ["a", "b", "b", "b"]
    assert chat.text(first) == "first"
    assert [block.text.splitlines()[0] for block in chat.users()[-1].content] == ["Queued #1", "Queued #2", "Queued #3"]


def test_followup_answers_each_message_alone_and_in_order(in_mode: MakeChat) -> None:
    chat = in_mode(QueueMode.FOLLOWUP)
    first = chat.busy()
    sent = [chat.send(answer(text)) for text in ("one", "two", "three")]
    chat.go()

    assert [chat.text(queued) for queued in (first, *sent)] == ["first", "one", "two", "three"]
    assert chat.runs(first, *sent) == ["a", "b", "c", "d"]
    assert [entry.message_ids for entry in chat.users()][-3:] == [[queued.message_id] for queued in sent]


def test_steer_joins_the_running_turn_before_its_next_model_call(in_mode: MakeChat) -> None:
    chat = in_mode(QueueMode.STEER)
    first = chat.busy()
    sent = [chat.send("hurry up"), chat.send(answer("steered"))]
    chat.go()

    assert chat.text(first) == "steered"
    assert chat.runs(first, *sent) == ["a", "a", "a"]
    assert chat.roles()[-6:] == ["user", "assistant", "toolResult", "user", "user", "assistant"]
    assert [entry.provenance for entry in chat.users()][-2:] == ["steer", "steer"]


def test_steer_backlog_joins_the_turn_and_gets_its_own_answer(in_mode: MakeChat) -> None:
    chat = in_mode(QueueMode.STEER_BACKLOG)
    first = chat.busy()
    second = chat.send(answer("second"))
    chat.go()

    assert chat.text(first) == "second", "the running turn did not see it"
    assert chat.text(second) == "second"
    assert chat.runs(first, second) == ["a", "b"]
    assert [entry.provenance for entry in chat.users()][-2:] == ["steer-backlog", None]


def test_interrupt_stops_the_turn_and_all_waiting_messages_and_is_answered_next(in_mode: MakeChat) -> None:
    chat = in_mode(QueueMode.INTERRUPT)
    first = chat.busy()
    begun = time.monotonic()
    second, third = chat.send(answer("second")), chat.send(answer("third"))

    assert chat.text(third) == "third"
    assert time.monotonic() - begun < 3
    outcome = chat.fleet.outcome(first)
    assert outcome.run is not None
    assert (outcome.receipt.state, outcome.run.state, outcome.run.reason) == (
        MessageState.CANCELLED,
        RunState.KILLED,
        "interrupt",
    )
    # The second may already be running when the third arrives.
    assert chat.state(second) == MessageState.CANCELLED
    assert "Working." in str(chat.fleet.stores.reader.transcript(chat.key))


def test_reject_refuses_while_busy_and_accepts_afterwards(in_mode: MakeChat) -> None:
    chat = in_mode(QueueMode.REJECT)
    first = chat.busy()
    refused = chat.post(answer("no"))
    chat.go()

    assert isinstance(refused, Rejected)
    assert refused.reason == "busy"
    assert chat.text(first) == "first"
    eventually(lambda: chat.fleet.stores.reader.control(chat.key).state == "idle", within=10)
    assert chat.text(chat.send(answer("yes"))) == "yes"


def test_collect_merges_only_messages_of_the_same_route_and_authority(fleet: Fleet) -> None:
    chat = Chat(fleet)
    chat.busy()
    sent = [
        chat.send("one", to="x"),
        chat.send("two", to="x"),
        chat.send("three", to="x", authority=Authority.ANYONE),
        chat.send("four", to="y"),
        chat.send("five", to="y"),
    ]
    chat.go()

    assert chat.runs(*sent) == ["a", "a", "b", "c", "c"]


def test_collected_messages_wait_for_quiet(fleet: Fleet) -> None:
    chat = Chat(fleet)
    first = chat.busy()
    chat.command("/queue collect debounce:700ms")
    second = chat.send("one")
    chat.go()
    chat.text(first)
    third = chat.send("two")

    assert chat.runs(second, third) == ["a", "a"], "the third was not collected with the second"
    outcome = fleet.outcome(third)
    assert outcome.run is not None
    assert 700 <= (outcome.run.started_at or 0) - outcome.receipt.accepted_at < 3_000


def test_a_message_to_an_idle_session_does_not_wait_for_quiet(fleet: Fleet) -> None:
    chat = Chat(fleet)
    chat.text(chat.send(answer("hello")))
    chat.command("/queue collect debounce:1m")
    begun = time.monotonic()

    assert chat.text(chat.send(answer("quick"))) == "quick"
    assert time.monotonic() - begun < 5


@pytest.mark.parametrize("drop", ["old", "new", "summarize"])
def test_at_the_cap_the_policy_decides_which_message_is_dropped(fleet: Fleet, drop: str) -> None:
    chat = Chat(fleet)
    chat.busy()
    chat.command(f"/queue cap:2 drop:{drop}")
    posted = [chat.post(text) for text in ("one\nand more", "two", "three")]
    chat.go()

    if drop == "new":
        assert isinstance(posted[2], Rejected)
        assert posted[2].reason == "full"
    kept = [queued for queued in posted if isinstance(queued, Queued)]
    states = [chat.state(queued) for queued in kept]
    assert states == (["answered", "answered"] if drop == "new" else ["dropped", "answered", "answered"])
    shown = [block.text for block in chat.users()[-1].content]
    assert (
        shown
        == {
            "old": ["Queued #1\ntwo", "Queued #2\nthree"],
            "new": ["Queued #1\none\nand more", "Queued #2\ntwo"],
            "summarize": [
                "[1 earlier message(s) were dropped because the queue was full]\n- one and more",
                "Queued #1\ntwo",
                "Queued #2\nthree",
            ],
        }[drop]
    )


@pytest.mark.parametrize("busy_with", ["a model call", "a streaming answer", "a command"])
def test_stop_ends_the_turn_within_two_seconds(either_fleet: Fleet, busy_with: str) -> None:
    fleet, chat = either_fleet, Chat(either_fleet)
    if busy_with == "a command":
        first = chat.busy()
    else:
        step = {"text": "one two", "delayMs": 60_000} if busy_with == "a model call" else streaming("one two")
        first = chat.send(program(step))
        shown = "run.started" if busy_with == "a model call" else "text.delta"
        eventually(lambda: [e for e in fleet.stores.reader.events(chat.key, "0") if e.type == shown], within=20)
    waiting = chat.send("waiting")

    begun = time.monotonic()
    reply = chat.command("/stop")
    outcome = fleet.outcome(first)

    assert time.monotonic() - begun < 2
    assert reply == f"Stopping {first.run} and cancelled 1 waiting message(s)."
    assert outcome.run is not None
    assert (outcome.receipt.state, outcome.run.state) == (MessageState.CANCELLED, RunState.KILLED)
    assert chat.state(waiting) == MessageState.CANCELLED
    if busy_with == "a streaming answer":
        assert outcome.text == "one", "the partial answer is lost"
    assert chat.text(chat.send(answer("still here"))) == "still here"


def streaming(text: str) -> Step:
    return {"text": text, "chunks": 2, "chunkDelayMs": 60_000, "calls": []}


def test_commands_that_act_at_once_answer_while_a_turn_runs(fleet: Fleet) -> None:
    chat = Chat(fleet)
    first = chat.busy()
    begun = time.monotonic()

    assert f"state   running ({first.run})" in chat.command("/status")
    assert "/stop" in chat.command("/help")
    assert chat.command("/queue followup") == "Queue set: mode followup."
    assert time.monotonic() - begun < 1
    chat.go()
    assert chat.text(first) == "first"


@pytest.mark.parametrize("word", ["/new", "/reset"])
def test_a_new_session_starts_at_the_position_of_the_command(fleet: Fleet, word: str) -> None:
    chat = Chat(fleet, channel="by-followup")
    first = chat.busy()
    before, command, after = chat.send(answer("before")), chat.send(word), chat.send(answer("after"))
    old = fleet.stores.reader.session(chat.key)
    chat.go()

    assert [chat.text(queued) for queued in (first, before, after)] == ["first", "before", "after"]
    assert fleet.outcome(command).text.startswith(("New session", "Session reset"))
    assert chat.runs(first, before, command, after) == ["a", "b", "c", "d"]
    assert [entry.message_ids for entry in chat.users()] == [[after.message_id]]
    new = fleet.stores.reader.session(chat.key)
    assert old is not None
    assert new is not None
    assert new.session_id != old.session_id


def test_no_message_is_steered_past_a_waiting_command(fleet: Fleet) -> None:
    chat = Chat(fleet, channel="by-steer")
    first = chat.busy()
    command, after = chat.send("/new"), chat.send(answer("after"))
    chat.go()

    assert chat.text(first) == "first"
    assert chat.text(after) == "after"
    assert chat.runs(first, command, after) == ["a", "b", "c"]
    assert [entry.message_ids for entry in chat.users()] == [[after.message_id]]


def test_a_turn_past_its_deadline_ends_as_timed_out(either_fleet: Fleet) -> None:
    fleet, chat = either_fleet, Chat(either_fleet, agent="hasty")
    begun = time.monotonic()

    outcome = fleet.outcome(chat.send(program(say("never", delay_ms=60_000))))

    assert time.monotonic() - begun < 4
    assert outcome.run is not None
    assert (outcome.run.state, outcome.run.reason, outcome.receipt.state) == (
        RunState.TIMEOUT,
        "timeout",
        MessageState.FAILED,
    )
    assert chat.roles() == ["user", "notice"]
    assert chat.text(chat.send(answer("next"))) == "next"


@pytest.mark.parametrize(
    ("channel", "silent_ms", "is_reset"),
    [
        ("idle", 6 * 60_000, True),
        ("idle", 60_000, False),
        ("daily", DAY_MS + 60_000, True),
        ("daily", 0, False),
        ("never", 30 * DAY_MS, False),
        ("unnamed", DAY_MS + 60_000, True),
    ],
)
def test_a_session_is_reset_by_the_policy_of_its_channel(
    fleet: Fleet, channel: str, silent_ms: int, is_reset: bool
) -> None:
    chat = Chat(fleet, channel=channel)
    chat.text(chat.send(answer("long ago")))
    old = fleet.stores.reader.session(chat.key)
    assert old is not None
    seen = (old.last_interaction_at or 0) - silent_ms
    fleet.stores.redis.hset(fleet.stores.keys.row(chat.key), "lastInteractionAt", str(seen))

    assert chat.text(chat.send(answer("today"))) == "today"

    new = fleet.stores.reader.session(chat.key)
    assert new is not None
    assert (new.session_id != old.session_id) == is_reset
    assert len(chat.users()) == (1 if is_reset else 2)


def test_a_deep_inbox_does_not_starve_another_session(tmp_path_factory: pytest.TempPathFactory) -> None:
    with Fleet(tmp_path_factory.mktemp("fairness")) as fleet:
        fleet.worker(concurrency=1)
        deep, other = Chat(fleet), Chat(fleet)
        first = deep.busy()
        queued = [deep.send(program(say("deep", delay_ms=50))) for _ in range(30)]
        quick = other.send(answer("quick"))
        deep.go()

        outcome = fleet.outcome(quick)
        deep.text(first)
        before = [each for each in queued if fleet.receipt(each).state == MessageState.ANSWERED]
        assert outcome.text == "quick"
        assert len(before) <= 3, "the deep inbox was served first"
