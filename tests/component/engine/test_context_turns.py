"""Turns that keep their conversation within the model's window: overflow, compaction in vain, /compact, pruning."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from openclaw_workers.agent.model.calibration import Calibration
from openclaw_workers.agent.model.tokens import Estimator
from openclaw_workers.agent.prompt.texts import SUMMARY_HEADING
from openclaw_workers.domain.accepted import Answered
from openclaw_workers.domain.messages import Authority, QueueMode
from openclaw_workers.domain.transcript import CompactionEntry, NoticeEntry, ToolResultEntry
from tests.component.engine.conftest import CLI, SESSION, EngineHarness, MakeEngine
from tests.component.engine.model_turns import APIS, ask, engine_with, is_summary, said, system, valid
from tests.component.engine.wire_harness import wire_engine
from tests.support.wire import Called, Failure, Raw, Recorded, Reply, WireServer
from tests.support.wire.words import worker_line

TOO_LONG = {
    "anthropic-messages": Failure(400, "prompt is too long: 215000 tokens > 200000 maximum"),
    "openai-completions": Failure(
        400, "This model's maximum context length is 8192 tokens.", code="context_length_exceeded"
    ),
    "openai-responses": Failure(
        400, "Your input exceeds the context window of this model.", code="context_length_exceeded"
    ),
}


@pytest.fixture
def server() -> Iterator[WireServer]:
    with WireServer() as running:
        yield running


def compactions(engine: EngineHarness) -> list[CompactionEntry]:
    return [entry for entry in engine.log() if isinstance(entry, CompactionEntry)]


def test_what_is_said_while_a_summary_is_made_is_read_before_the_next_call(
    make_engine: MakeEngine, server: WireServer
) -> None:
    def answer(request: Recorded) -> Reply:
        if is_summary(request) and not engine.stores.inbox.waiting(SESSION):
            engine.say("and be brief", mode=QueueMode.STEER)
        return Reply("Much was asked." if is_summary(request) else "so it is. " * 20, input=len(said(request)) // 4)

    server.answer = answer
    engine = engine_with(make_engine, server, window=6_000, promptMode="none")
    while not compactions(engine):
        assert ask(engine, "and more words " * 60).state == "ok"

    first = next(index for index, request in enumerate(server.requests) if is_summary(request))
    following = next(request for request in server.requests[first:] if not is_summary(request))
    assert "and be brief" in said(following)
    assert engine.stores.inbox.waiting(SESSION) == []


def test_less_than_the_window_is_used_where_that_is_set(make_engine: MakeEngine, server: WireServer) -> None:
    """Compaction begins at eighty percent of what is set, and no request is larger than that, summaries included."""
    sizes: dict[bool, list[int]] = {True: [], False: []}

    def answer(request: Recorded) -> Reply:
        size = len(said(request)) // 4
        sizes[is_summary(request)].append(size)
        return Reply("Much was asked." if is_summary(request) else "so it is. " * 20, input=size)

    server.answer = answer
    engine = engine_with(make_engine, server, window=30_000, contextTokens=10_000, promptMode="none")
    for turn in range(60):
        assert ask(engine, f"question {turn} " + "and more words " * 30).state == "ok"

    assert len(compactions(engine)) >= 2
    assert all(entry.tokens_before <= 10_000 for entry in compactions(engine))
    assert max(sizes[False]) <= 8_000
    assert max(sizes[True]) <= 10_000
    assert valid(server)
    report = json.loads(engine.stores.reader.row(SESSION)["systemPromptReport"])
    assert report["window"] == engine.built.frames.default("main").report["window"] == 10_000
    shown = engine.intake.accept("/context", session=SESSION, route=CLI, authority=Authority.OWNER)
    assert isinstance(shown, Answered)
    assert shown.text.startswith("Model wire/m, window 10,000 tokens\n")


def test_a_program_with_its_prompt_as_an_argument_goes_on_when_all_would_be_too_long(make_engine: MakeEngine) -> None:
    counter = {"command": ["sh", "-c", 'echo "${#1}"', "sh", "{prompt}"], "input": "argument"}
    engine = make_engine({"models": {"cli": {"count": counter}}, "agents": {"defaults": {"model": "cli/count"}}})
    sizes: list[int] = []
    for turn in range(20):
        run = ask(engine, f"{turn} " + "x" * 10_000)
        assert run.state == "ok", run.error
        sizes.append(int(run.text or ""))
    assert sizes[0] < sizes[5] < sizes[9]
    assert max(sizes) < 128 << 10
    assert max(sizes) > 90_000, "and as much is told as there is room for"


def workspace(engine: EngineHarness) -> Path:
    path = engine.loaded.state_dir / "workspace"
    path.mkdir(parents=True, exist_ok=True)
    return path


@pytest.mark.parametrize("api", APIS)
def test_a_request_that_is_refused_as_too_long_is_made_again_after_compaction(
    make_engine: MakeEngine, server: WireServer, api: str
) -> None:
    engine = engine_with(make_engine, server, api)
    for turn in range(4):
        ask(engine, f"question {turn} " + "x" * 400)
    server.script += [TOO_LONG[api], Reply("Four questions were asked."), Reply("answered")]

    run = ask(engine, "one more")

    assert (run.state, run.text) == ("ok", "answered")
    refused, summary, again = server.requests[-3:]
    assert is_summary(summary)
    assert "question 0" in said(summary)
    assert "question 0" in said(refused)
    assert "question 0" not in said(again)
    assert "Four questions were asked." in said(again)
    assert len(compactions(engine)) == 1
    assert valid(server)
    row = engine.stores.reader.session(SESSION)
    assert row is not None
    assert row.compaction_count == 1


def test_results_that_no_compaction_can_drop_are_cut(make_engine: MakeEngine, server: WireServer) -> None:
    engine = engine_with(make_engine, server)
    (workspace(engine) / "big.txt").write_text("\n".join(f"line {n}" for n in range(3000)))
    ask(engine, "hello")

    def answer(request: Recorded) -> Reply | Failure:
        if is_summary(request):
            return Reply("Greetings.")
        if "line 5" not in said(request):
            return Reply(calls=[Called("read", {"path": "big.txt"})])
        return TOO_LONG["anthropic-messages"] if "trimmed" not in said(request) else Reply("read it")

    server.answer = answer
    run = ask(engine, "read big.txt")

    assert (run.state, run.text) == ("ok", "read it")
    result = next(entry for entry in engine.log() if isinstance(entry, ToolResultEntry))
    assert "trimmed" not in result.content[0].text
    assert valid(server)


@pytest.mark.parametrize("api", APIS)
def test_what_fits_by_no_means_ends_with_a_clear_error(make_engine: MakeEngine, server: WireServer, api: str) -> None:
    engine = engine_with(make_engine, server, api)
    ask(engine, "hello")
    server.answer = lambda request: Reply("Greetings.") if is_summary(request) else TOO_LONG[api]

    run = ask(engine, "and now?")

    assert (run.state, run.reason) == ("error", "context_overflow")
    assert run.error is not None
    assert "does not fit into the model's context" in run.error
    assert "/new" in run.error
    assert len(server.requests) < 10
    server.answer = lambda _: Reply("fine")
    assert ask(engine, "again").text == "fine"
    assert valid(server)


def test_a_compaction_in_vain_is_not_repeated_by_later_turns(make_engine: MakeEngine, server: WireServer) -> None:
    engine = engine_with(make_engine, server, window=5000, compaction={"memoryFlush": {"enabled": False}})
    server.answer = lambda request: Reply("long " * 500) if is_summary(request) else Reply("ok", input=3000)
    for turn in range(6):
        assert ask(engine, f"turn {turn}").text == "ok"

    assert compactions(engine) == []
    reported = [entry.text for entry in engine.log() if isinstance(entry, NoticeEntry)]
    assert len(reported) == 1
    assert reported[0].endswith("no gain")
    assert sum(map(is_summary, server.requests)) == 1


def test_compact_is_done_on_request_with_what_to_attend_to(make_engine: MakeEngine, server: WireServer) -> None:
    engine = engine_with(make_engine, server)
    for turn in range(3):
        ask(engine, f"question {turn} " + "y" * 300)
    server.script.append(Reply("They asked three times."))

    run = ask(engine, "/compact keep the colours")

    assert run.text is not None
    assert run.text.startswith("Compacted: about ")
    assert "keep the colours" in said(server.requests[-1])
    assert [entry.role for entry in engine.log()][-1] == "compaction"
    ask(engine, "go on")
    first = server.requests[-1].body["messages"][0]["content"][0]["text"]
    assert first.startswith(SUMMARY_HEADING)
    assert "They asked three times." in first
    assert valid(server)


def test_a_model_that_cannot_summarise_says_so(make_engine: MakeEngine) -> None:
    engine = make_engine({"agents": {"defaults": {"model": "offline/script"}}})
    text = ask(engine, "/compact").text
    assert text is not None
    assert "cannot summarise" in text


@pytest.mark.parametrize(("ttl", "cleared"), [("0s", True), ("1h", False)])
def test_old_results_are_pruned_once_the_cache_is_cold(
    make_engine: MakeEngine, server: WireServer, ttl: str, cleared: bool
) -> None:
    pruning: dict[str, Any] = {"ttl": ttl, "keepLastAssistants": 1, "softTrimRatio": 0.0, "hardClearRatio": 0.0}
    engine = engine_with(make_engine, server, contextPruning=pruning)
    (workspace(engine) / "notes.txt").write_text("word " * 1000)
    server.script += [Reply(calls=[Called("read", {"path": "notes.txt"})]), Reply("read"), Reply("done")]
    ask(engine, "read notes.txt")
    ask(engine, "and now?")

    shown = [request.body["messages"][2]["content"][0] for request in server.requests[1:]]
    assert ["word word" in str(each) for each in shown] == [True, not cleared]
    assert ("[Tool result omitted" in str(shown[1])) is cleared
    result = next(entry for entry in engine.log() if isinstance(entry, ToolResultEntry))
    assert "word word" in result.content[0].text
    assert valid(server)


def without_a_summary(request: Recorded) -> Reply | Failure:
    return Failure(400, "no") if is_summary(request) else Reply("ok", input=len(said(request)) // 4)


def test_a_summariser_that_fails_does_not_end_a_conversation_that_still_fits(
    make_engine: MakeEngine, server: WireServer
) -> None:
    engine = engine_with(make_engine, server, window=40_000, compaction={"memoryFlush": {"enabled": False}})
    server.answer = without_a_summary
    for _ in range(40):
        if any(map(is_summary, server.requests)):
            break
        assert ask(engine, "x" * 4000).text == "ok"
    assert ask(engine, "and now?").text == "ok"

    assert compactions(engine) == []
    (reported,) = [entry.text for entry in engine.log() if isinstance(entry, NoticeEntry)]
    assert reported.startswith("Compaction achieved nothing at ")
    assert reported.endswith("no summary (wire: no)")
    assert sum(map(is_summary, server.requests)) == 1, "it is not asked again by each turn"


def test_a_summariser_that_fails_when_nothing_fits_says_why(make_engine: MakeEngine, server: WireServer) -> None:
    engine = engine_with(make_engine, server, window=40_000, compaction={"memoryFlush": {"enabled": False}})
    server.answer = without_a_summary
    ask(engine, "x" * 4000)
    run = ask(engine, "y" * 180_000)
    assert (run.state, run.reason) == ("error", "format")
    assert is_summary(server.requests[-1])


@pytest.mark.parametrize("api", APIS)
def test_a_refusal_is_no_summary(make_engine: MakeEngine, server: WireServer, api: str) -> None:
    engine = engine_with(make_engine, server, api)
    for turn in range(3):
        ask(engine, f"question {turn} " + "y" * 300)
    server.answer = lambda request: Reply(refusal="I cannot help with that.") if is_summary(request) else Reply("ok")

    assert ask(engine, "/compact").text == "Nothing was compacted: no summary."

    assert compactions(engine) == []
    ask(engine, "go on")
    assert "question 0" in said(server.requests[-1])


def test_all_that_is_sent_is_measured(make_engine: MakeEngine, server: WireServer) -> None:
    engine = engine_with(make_engine, server)
    server.script.append(Reply("ok", input=9000))
    ask(engine, "x" * 4000)

    plain, specs = Estimator("wire", "m", Calibration()), engine.built.frames.default("main").setup.specs
    sent = plain.frame("".join([*system(server.requests[0]), worker_line(server.requests[0])]), specs) + plain.entry(
        engine.log()[0]
    )
    assert engine.built.calibration.ratio("wire/m") == pytest.approx(9000 / sent, rel=0.001)


def test_a_model_is_measured_by_its_own_answers_alone(make_engine: MakeEngine, server: WireServer) -> None:
    """Neither by those of its fallback, nor by what we guessed ourselves."""
    wired = wire_engine(make_engine, server, model={"primary": "b/m", "fallbacks": ["a/m"]})
    ratio = wired.engine.built.calibration.ratio
    wired.plan("b1:m", Failure(400, "no"))
    wired.plan("a1:m", Reply("ok", input=50_000))
    assert wired.turn("x" * 4000).model == "a/m"
    assert ratio("b/m") == 1.0

    end = {"choices": [{"index": 0, "delta": {"content": "ok"}, "finish_reason": "stop"}]}
    wired.plan("b1:m", Raw([(None, end)]))
    assert wired.turn("x" * 4000).model == "b/m"
    assert ratio("b/m") == 1.0

    wired.plan("b1:m", Reply("ok", input=50_000))
    wired.turn("x" * 4000)
    assert ratio("b/m") > 1.0
