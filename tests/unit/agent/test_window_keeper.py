"""How a turn keeps its conversation within the window, call by call."""

from __future__ import annotations

import time
from datetime import UTC

from openclaw_workers.agent.context.compaction import Context
from openclaw_workers.agent.context.request_view import RequestView
from openclaw_workers.agent.context.window_keeper import WindowKeeper
from openclaw_workers.agent.model.calibration import Calibration
from openclaw_workers.agent.model.tokens import Estimator
from openclaw_workers.config.context import CompactionSettings, ContextPruningSettings
from openclaw_workers.domain.transcript import CompactionEntry, NoticeEntry, TranscriptEntry
from openclaw_workers.errors import FailureReason, ProviderError
from openclaw_workers.hooks import Hooks, register
from tests.unit.agent.entries import assistant, result, user

NOTED = "tokens before the newest message in a window of 4000"


class Conversation:
    """A conversation in a window of 4000 tokens; the summariser answers with `summary`."""

    def __init__(self, *entries: TranscriptEntry) -> None:
        self.log = list(entries)
        self.summary = ""
        self.summarised = 0
        context = Context(4000, 200, Estimator("openai", "m", Calibration()))
        settings = CompactionSettings.model_validate({"reserveTokensFloor": 400, "memoryFlush": {"enabled": False}})
        self.keeper = WindowKeeper(
            view=RequestView(context, settings, ContextPruningSettings()),
            run_id="run",
            tools=frozenset(),
            zone=UTC,
            summarise=self._summarise,
            flush=lambda _: [],
            record=self.log.append,
        )

    def _summarise(self, messages: list[TranscriptEntry], instructions: str) -> str:
        self.summarised += 1
        return self.summary

    def make_room(self) -> None:
        self.keeper.make_room(self.log)

    @property
    def notices(self) -> list[str]:
        return [entry.text for entry in self.log if isinstance(entry, NoticeEntry)]


def test_a_futile_compaction_is_retried_once_the_visible_part_has_grown() -> None:
    # Given large results that pruning clears
    read = [each for n in range(6) for each in (assistant("", f"o{n}"), result(f"o{n}", "x" * 8000))]
    since = [each for n in range(7) for each in (user("q" * 900), assistant("a" * 900))]
    for entry in (*read, *since):
        entry.timestamp = 1
    chat = Conversation(user("go"), *read, *since)

    # When a summary fails, and the conversation then grows by far more than the required five percent
    chat.make_room()
    tried = chat.summarised
    assert tried
    (notice,) = chat.notices
    chat.make_room()
    assert chat.summarised == tried, "not before it has grown"
    answer = assistant("a" * 900)
    answer.timestamp = int(time.time() * 1000)
    chat.log += [answer, user("q" * 900)]
    chat.summary = "in short"
    chat.make_room()

    # Then it is compacted
    assert chat.summarised > tried
    assert isinstance(chat.log[-1], CompactionEntry)
    assert int(notice.split()[4]) < 4000, "the noted size is that of what the model saw"


def test_a_large_new_message_is_dropped_once_it_is_old() -> None:
    # Given a result larger than the window with little before it, so that a summary saves nothing
    chat = Conversation(
        user("hello"), assistant("hi"), user("read it"), assistant("", "c0"), result("c0", "x" * 60_000)
    )
    chat.summary = "long " * 400
    chat.make_room()
    chat.make_room()
    assert chat.notices == [f"Compaction achieved nothing at {chat.notices[0].split()[4]} {NOTED}: no gain"]

    # When the model has answered and the conversation continues
    chat.log += [assistant("I read it."), user("and what does it say?")]
    chat.make_room()

    # Then the result is dropped, although the conversation has hardly grown
    assert isinstance(chat.log[-1], CompactionEntry)
    assert chat.keeper.view.size(chat.log, 0) < 1500


def test_an_overflow_compacts_again_although_an_earlier_try_was_futile() -> None:
    chat = Conversation(user("go"), *(each for n in range(9) for each in (user("q" * 900), assistant("a" * 900))))
    chat.make_room()
    assert chat.notices
    chat.log += [each for n in range(3) for each in (assistant("", f"c{n}"), result(f"c{n}", "x" * 900))]
    chat.summary = "in short"

    chat.keeper.overflowed(chat.log, ProviderError("too long", reason=FailureReason.CONTEXT_OVERFLOW))

    assert isinstance(chat.log[-1], CompactionEntry)


def test_plugins_see_a_compaction_and_may_block_it(no_hooks: None) -> None:
    reported: list[str] = []
    register("after_compaction", lambda event: reported.append(event["summary"]))
    chat = Conversation(*(each for _ in range(12) for each in (user("q" * 900), assistant("a" * 900))))
    chat.summary, chat.keeper.hooks = "in short", Hooks()

    chat.make_room()
    assert reported == ["in short"]

    register("before_compaction", lambda event: {"block": event["tokens"] > 0})
    chat.log += [each for _ in range(12) for each in (user("q" * 900), assistant("a" * 900))]
    asked = chat.summarised
    chat.make_room()
    assert (reported, chat.summarised) == (["in short"], asked)
