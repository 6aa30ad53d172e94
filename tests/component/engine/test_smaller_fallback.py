"""A fallback that sees less than the model that was asked for: what it is sent fits into its own window."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from openclaw_workers.agent.context.memory_flush import DONE
from openclaw_workers.domain.transcript import CompactionEntry, NoticeEntry
from openclaw_workers.providers.remote import endpoints_of
from tests.component.engine.conftest import EngineHarness, MakeEngine
from tests.component.engine.model_turns import APIS, ask, is_flush, is_summary, said, valid
from tests.support.wire import Called, Failure, Recorded, Reply, WireServer
from tests.support.wire.behaviour import Behaviour

LARGE, SMALL = 60_000, 11_000
FLUSHED_EARLY = {"memoryFlush": {"forceFlushTranscriptBytes": 100}}
TOO_LONG = Failure(400, f"prompt is too long: maximum context length is {SMALL} tokens", code="context_length_exceeded")


@dataclass
class Two:
    """Model `large` answers until it is told to be busy; `small` refuses what is beyond its window."""

    is_busy: bool = False
    busy_with_summaries: bool = False
    declines: bool = False
    """The small one makes no summaries."""
    calls: list[Called] = field(default_factory=list)
    """What the small one calls before it answers."""
    small: list[Recorded] = field(default_factory=list)

    def __call__(self, request: Recorded) -> Behaviour:
        size = tokens(request)
        if request.body["model"] == "large":
            busy = self.is_busy or (self.busy_with_summaries and is_summary(request))
            return Failure(429, "slow down") if busy else Reply("large says so", input=size)
        self.small.append(request)
        if size > SMALL:
            return TOO_LONG
        if is_summary(request):
            return Reply(refusal="No.") if self.declines else Reply("They talked.", input=size)
        if is_flush(request):
            return Reply("NO_REPLY", input=size)
        return Reply("small says so", calls=[self.calls.pop()] if self.calls else [], input=size)


def tokens(request: Recorded) -> int:
    return len(json.dumps(request.body, ensure_ascii=False)) // 4


def notices(engine: EngineHarness) -> list[str]:
    return [entry.text for entry in engine.log() if isinstance(entry, NoticeEntry)]


@pytest.fixture
def server() -> Iterator[WireServer]:
    with WireServer() as running:
        yield running


def engine_of_two(
    make: MakeEngine, server: WireServer, api: str = APIS[0], *, limits: Any = None, **agent: Any
) -> tuple[EngineHarness, Two]:
    url = server.url if api == APIS[0] else server.openai_url
    two = Two()
    server.answer = two
    providers = {
        name: {
            "baseUrl": url,
            "api": api,
            "apiKey": name,
            "models": [{"id": name, "contextWindow": window, "maxTokens": 1000}],
            "limits": limits or {},
        }
        for name, window in (("large", LARGE), ("small", SMALL))
    }
    model = {"primary": "large/large", "fallbacks": ["small/small"]}
    agents = {"defaults": {"model": model, **agent}}
    # Which bundled skills are listed depends on the programs of the host, and so would the size of the prompt.
    return make({"models": {"providers": providers}, "agents": agents, "skills": {"allowBundled": []}}), two


def talked(engine: EngineHarness, turns: int = 20) -> None:
    """About 1,000 tokens a turn: little for the large model, too much for the small one."""
    for number in range(turns):
        ask(engine, f"question {number} " + "word " * 800)


@pytest.mark.parametrize("api", APIS)
def test_what_the_fallback_is_sent_fits_into_its_own_window(
    make_engine: MakeEngine, server: WireServer, api: str
) -> None:
    engine, two = engine_of_two(make_engine, server, api)
    talked(engine)
    assert max(map(tokens, server.requests)) > 2 * SMALL
    two.is_busy = True

    first, second = ask(engine, "and now?"), ask(engine, "and then?")

    assert (first.state, first.text) == ("ok", "small says so")
    assert (second.state, second.text) == ("ok", "small says so")
    assert max(map(tokens, two.small)) <= SMALL
    assert [is_summary(request) for request in two.small[-2:]] == [False, False]
    assert "They talked." in said(two.small[-1])
    assert "and now?" in said(two.small[-2])
    read = "".join(said(request) for request in two.small if is_summary(request))
    assert all(f"question {number} " in read for number in range(10)), "what is dropped was summarised"
    assert sum(isinstance(entry, CompactionEntry) for entry in engine.log()) == 1
    assert valid(server)


def test_a_call_that_was_not_made_for_want_of_room_counts_against_no_limit(
    make_engine: MakeEngine, server: WireServer
) -> None:
    engine, two = engine_of_two(make_engine, server, limits={"requestsPerMinute": 1000})
    talked(engine)
    two.is_busy = True

    assert ask(engine, "and now?").text == "small says so"

    counted = engine.stores.redis.zrange(engine.stores.keys.recent("small"), 0, -1)
    assert len(counted) == len(two.small)
    assert max(int(str(member).split()[0]) for member in counted) <= SMALL + 1000


def test_a_compaction_for_the_fallback_that_was_in_vain_is_not_tried_in_each_turn(
    make_engine: MakeEngine, server: WireServer
) -> None:
    engine, two = engine_of_two(make_engine, server)
    talked(engine, 2)
    two.is_busy, two.declines = True, True

    assert ask(engine, "and now?").text == "small says so"
    assert any(map(is_summary, two.small))
    two.small.clear()
    assert ask(engine, "and then?").text == "small says so"
    assert not any(map(is_summary, two.small))
    assert sum(f"in a window of {SMALL}: no summary" in reported for reported in notices(engine)) == 1


def test_the_large_one_goes_on_with_all_its_room(make_engine: MakeEngine, server: WireServer) -> None:
    engine, two = engine_of_two(make_engine, server)
    talked(engine)
    two.is_busy = True
    ask(engine, "and now?")
    [large] = endpoints_of("large", engine.loaded.settings.models.providers["large"])
    engine.stores.redis.delete(engine.stores.keys.cooldown(large.known_as))
    two.is_busy = False

    talked(engine)

    assert ask(engine, "still there?").text == "large says so"
    assert tokens(server.requests[-1]) > SMALL
    assert sum(isinstance(entry, CompactionEntry) for entry in engine.log()) == 1


def test_a_first_model_that_fails_over_a_summary_leaves_smaller_parts(
    make_engine: MakeEngine, server: WireServer
) -> None:
    engine, two = engine_of_two(make_engine, server)
    talked(engine)
    two.busy_with_summaries = True

    text = ask(engine, "/compact").text

    assert text is not None
    assert text.startswith("Compacted: ")
    assert max(map(tokens, two.small)) <= SMALL
    assert all(map(is_summary, two.small))


def test_results_of_tools_are_cut_to_the_fallbacks_window(make_engine: MakeEngine, server: WireServer) -> None:
    engine, two = engine_of_two(make_engine, server)
    workspace = Path(engine.loaded.state_dir) / "workspace"
    workspace.mkdir(parents=True)
    (workspace / "big.txt").write_text("\n".join(f"line {n} of many" for n in range(4000)))
    two.is_busy = True
    two.calls = [Called("read", {"path": "big.txt"})]

    run = ask(engine, "read it")

    assert (run.state, run.text) == ("ok", "small says so")
    assert max(map(tokens, two.small)) <= SMALL
    assert "trimmed" in said(two.small[-1])


def engine_with_demo(make: MakeEngine, server: WireServer, **agent: Any) -> EngineHarness:
    """Its fallback cannot summarise."""
    provider = {"baseUrl": server.url, "api": APIS[0], "apiKey": "k", "models": [{"id": "m", "contextWindow": LARGE}]}
    defaults = {"model": {"primary": "wire/m", "fallbacks": ["offline/demo"]}, **agent}
    server.answer = lambda _: Reply("ok")
    return make({"models": {"providers": {"wire": provider}}, "agents": {"defaults": defaults}})


def test_a_fallback_that_cannot_summarise_sees_the_newest_messages(make_engine: MakeEngine, server: WireServer) -> None:
    engine = engine_with_demo(make_engine, server)
    talked(engine, 25)
    server.answer = lambda _: Failure(429, "slow down")

    run = ask(engine, "what tools do you have?")

    assert run.state == "ok"
    assert run.text is not None
    assert run.text.startswith("I have ")
    assert run.usage.input < 16_000


def test_a_fallback_that_cannot_summarise_is_not_asked_to(make_engine: MakeEngine, server: WireServer) -> None:
    """Its small talk would take the place of what was said."""
    engine = engine_with_demo(make_engine, server)
    talked(engine, 8)
    server.answer = lambda _: Failure(429, "slow down")

    run = ask(engine, "/compact")

    assert (run.state, run.reason) == ("error", "rate_limit")
    assert "slow down" in (run.error or "")
    assert not any(isinstance(entry, CompactionEntry) for entry in engine.log())
    assert ask(engine, "what tools do you have?").state == "ok", "but it answers"


def test_nor_to_save_what_matters(make_engine: MakeEngine, server: WireServer) -> None:
    engine = engine_with_demo(make_engine, server, compaction=FLUSHED_EARLY)
    server.answer = lambda _: Failure(429, "slow down")

    run = ask(engine, "what tools do you have? " + "z" * 400)

    assert (run.state, run.model) == ("ok", "offline/demo")
    assert notices(engine)[0].startswith(f"{DONE} failed: ")


def test_a_smaller_fallback_goes_on_with_the_notes_that_another_began(
    make_engine: MakeEngine, server: WireServer
) -> None:
    engine, two = engine_of_two(make_engine, server, compaction=FLUSHED_EARLY)
    writing = Called("write", {"path": "memory/notes.md", "content": "likes blue"}, id="toolu_w")

    def answer(request: Recorded) -> Behaviour:
        two.is_busy = "toolu_w" in said(request)
        return two(request) if two.is_busy or request.body["model"] == "small" else Reply(calls=[writing])

    server.answer = answer
    ask(engine, "I like blue. " + "z" * 200)

    assert ["toolu_w" in said(request) for request in two.small if is_flush(request)] == [True]
    assert notices(engine)[0] == f"{DONE}: saved to memory/notes.md"
    assert valid(server)
