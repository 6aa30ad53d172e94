"""One request: summary, pruning and limits together."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from openclaw_workers.agent.context.compaction import Context, NotCompacted, compact
from openclaw_workers.agent.context.request_view import RequestView
from openclaw_workers.agent.model.calibration import Calibration
from openclaw_workers.agent.model.tokens import Estimator
from openclaw_workers.config.context import CompactionSettings, ContextPruningSettings
from openclaw_workers.domain.transcript import CompactionEntry, NoticeEntry, TranscriptEntry
from tests.unit.agent.entries import assistant, is_valid, result, transcripts, user

HOUR = 3_600_000


def view(window: int = 4000, frame: int = 200) -> RequestView:
    compaction = CompactionSettings(reserve_tokens_floor=400)
    return RequestView(
        Context(window, frame, Estimator("openai", "m", Calibration())), compaction, ContextPruningSettings()
    )


def timed(*entries: TranscriptEntry, start: int = 1) -> list[TranscriptEntry]:
    for n, entry in enumerate(entries):
        entry.timestamp = start + n
    return list(entries)


def test_pruning_makes_a_compaction_unnecessary_also_in_a_busy_session() -> None:
    old = [each for n in range(3) for each in (assistant("", f"o{n}"), result(f"o{n}", "x" * 4500))]
    new = [each for n in range(3) for each in (assistant("", f"n{n}"), result(f"n{n}", "y"))]
    log = timed(user("go"), *old, *new)
    assert view().used(log) > 0.9 * 4000

    for now_ms in (100, 2 * HOUR):
        assert not view().must_compact(view().size(log, now_ms=now_ms))


def test_a_result_larger_than_the_window_is_cut_for_the_request_and_whole_in_the_log() -> None:
    log = timed(user("go"), assistant("", "a"), result("a", "x" * 60_000))
    shown = view().messages(log, 10)
    assert view().used(shown) <= 3600
    assert view().used(view().messages(log, 10, truncates=True)) < view().used(shown)
    assert "x" * 60_000 in str(log[2])


def test_cutting_does_not_hide_that_a_compaction_is_due() -> None:
    log = timed(user("go"), assistant("", "a"), result("a", "x" * 60_000))
    assert view().must_compact(view().size(log, 10))


@settings(deadline=None, max_examples=50)
@given(transcripts(), transcripts(), st.integers(0, 3), st.integers(50, 3000), st.booleans())
def test_the_request_is_valid_for_any_log(
    before: list[TranscriptEntry], after: list[TranscriptEntry], kept: int, window: int, truncates: bool
) -> None:
    log = [*before, NoticeEntry(text="n"), CompactionEntry(summary="s", kept=kept), *after]
    shown = view(window, 10).messages(log, 2 * HOUR, truncates=truncates)
    assert is_valid(shown)
    assert shown[0].role == "user"


def test_a_conversation_of_large_results_goes_on_within_its_window() -> None:
    log: list[TranscriptEntry] = []
    request = view()
    for n in range(60):
        log += timed(user(f"do {n}"), assistant("", f"c{n}"), result(f"c{n}", "z" * (n * 997 % 20_000)), start=n * 10)
        size = request.size(log, n * 10 + 5)
        if request.must_compact(size):
            outcome = compact(log, request.compaction, request.context, lambda *_: "in short", now_ms=n * 10 + 4)
            if not isinstance(outcome, NotCompacted):
                log.append(outcome)
        shown = request.messages(log, n * 10 + 5)
        assert is_valid(shown)
        assert request.used(shown) <= 3600
        log.append(assistant("done"))
