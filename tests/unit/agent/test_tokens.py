"""Token estimates: by script and family, and closer with every call."""

from __future__ import annotations

import threading
import zlib
from pathlib import Path
from weakref import ref

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openclaw_workers.agent.model import tokens
from openclaw_workers.agent.model.calibration import Calibration
from openclaw_workers.agent.model.tokens import ENTRY_TOKENS, PAGE_TOKENS, Estimator, Rates, rates_for
from openclaw_workers.domain.media_types import MOST_PDF_BYTES
from openclaw_workers.domain.tool_spec import ToolSpec
from openclaw_workers.domain.transcript import (
    Attachment,
    CompactionEntry,
    NoticeEntry,
    TranscriptEntry,
    Usage,
)
from tests.unit.agent.entries import ENTRIES, TEXT, assistant, user

SPEC = ToolSpec("read", "Read a file.", {"type": "object", "properties": {"path": {"type": "string"}}})


def estimator(provider: str = "openai", model: str = "gpt-4o", calibration: Calibration | None = None) -> Estimator:
    return Estimator(provider, model, calibration or Calibration())


@pytest.mark.parametrize(("text", "count"), [("a" * 400, 100), ("雪" * 400, 400), ("ж" * 400, 200), ("", 0)])
def test_a_text_is_estimated_by_its_script(text: str, count: int) -> None:
    assert estimator().text(text) == count


def test_a_mixed_text_is_the_sum_of_its_scripts() -> None:
    mixed = "plain " * 100 + "雪" * 50 + "ж" * 40
    assert estimator().text(mixed) == 150 + 50 + 20


def test_claude_has_shorter_tokens_whoever_serves_it() -> None:
    text = "the quick brown fox " * 50
    assert estimator("anthropic", "claude-opus-4-6").text(text) > estimator().text(text)
    assert rates_for("openrouter", "anthropic/Claude-X") == rates_for("anthropic", "claude-opus-4-6")


def test_invisible_entries_cost_nothing_and_calls_cost_more_than_their_text() -> None:
    estimate = estimator()
    assert estimate.entries([NoticeEntry(text="n" * 400), CompactionEntry(summary="s" * 400)]) == 0
    assert estimate.entry(user("")) == ENTRY_TOKENS
    assert estimate.entry(assistant("", "call")) > estimate.entry(assistant(""))


PLAIN = b"%PDF-1.4\n1 0 obj <</Type /Pages /Count 3>> endobj\n" + b"2 0 obj <</Type /Page>> endobj\n" * 3
PACKED = (
    b"%PDF-1.5\n1 0 obj <</Type /ObjStm /N 40 /Filter /FlateDecode>>\nstream\r\n"
    + zlib.compress(b"<</Type/Page/Parent 1 0 R>> " * 40 + b"<</Type/Pages>>")
    + b"\nendstream endobj\n"
)


@pytest.mark.parametrize(
    ("data", "pages"),
    [(PLAIN, 3), (PACKED, 40), (PACKED + PLAIN, 43), (b"%PDF-1.7 /Encrypt" + b"x" * 95_000, 5)],
    ids=["plain", "packed", "both", "by its size"],
)
def test_a_pdf_costs_as_much_as_its_pages(tmp_path: Path, data: bytes, pages: int) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(data)
    entry, without = user("look"), user("look")
    entry.attachments = [Attachment(name="a.pdf", mime_type="application/pdf", path=str(path))]
    without.attachments = [Attachment(name="a.zip", mime_type="application/zip", path="a.zip")]
    assert estimator().entry(entry) - estimator().entry(without) == pages * PAGE_TOKENS
    unread = Estimator("openai", "gpt-4o", Calibration(), reads_pdfs=False)
    assert unread.entry(entry) == unread.entry(without), "it is only named to this one"

    path.write_bytes(b"x" * (MOST_PDF_BYTES + 1))
    assert estimator().entry(user("look").model_copy(update={"attachments": entry.attachments})) == estimator().entry(
        without
    ), "too large to be sent"


def test_an_attached_image_costs_more_than_the_name_of_a_file() -> None:
    seen, named = user("look"), user("look")
    seen.attachments = [Attachment(name="a.png", mime_type="image/png", path="a.png")]
    named.attachments = [Attachment(name="a.zip", mime_type="application/zip", path="a.zip")]
    assert estimator().entry(seen) > estimator().entry(named) > estimator().entry(user("look"))


def test_the_frame_is_the_system_prompt_and_the_tool_schemas() -> None:
    estimate = estimator()
    assert estimate.frame("s" * 400, []) == 100
    assert estimate.frame("s" * 400, [SPEC]) > 120


def test_the_estimate_follows_what_the_api_reports() -> None:
    calibration = Calibration()
    estimate = estimator(calibration=calibration)
    messages = [user("x" * 8000)]
    before = estimate.entries(messages)

    for _ in range(3):
        estimate.learn("", [], messages, Usage(input=1000, cache_read=1500, cache_write=500))

    assert estimate.entries(messages) == pytest.approx(3000, rel=0.01)
    assert estimator(model="other", calibration=calibration).entries(messages) == before, "each model has its own ratio"


@pytest.mark.parametrize(("mime_type", "reported"), [("application/pdf", 45_000), ("image/png", 2_100)])
def test_requests_with_pages_do_not_change_the_calibration(mime_type: str, reported: int) -> None:
    estimate, text = estimator(), user("x" * 8000)
    estimate.learn("", [], [text], Usage(input=2000))
    before = estimate.entry(text)
    shown = user("look").model_copy(update={"attachments": [Attachment(name="a", mime_type=mime_type, path="a")]})

    estimate.learn("", [], [text, shown], Usage(input=reported))

    assert estimate.entry(text) == before
    estimate.learn("", [], [text], Usage(input=4000))
    assert estimate.entry(text) > before


def test_a_low_estimate_is_corrected_faster_than_a_high_one() -> None:
    up, down = Calibration(), Calibration()
    for each in (up, down):
        each.learn("m", 1000, 1000)
    up.learn("m", 1000, 1500)
    down.learn("m", 1000, 500)
    assert up.ratio("m") - 1 > 1 - down.ratio("m")


@given(st.lists(st.tuples(st.floats(0, 1e7), st.integers(-5, 10**9))))
def test_no_report_however_odd_moves_the_ratio_out_of_bounds(pairs: list[tuple[float, int]]) -> None:
    calibration = Calibration()
    for estimated, reported in pairs:
        calibration.learn("m", estimated, reported)
    assert Calibration.LEAST <= calibration.ratio("m") <= Calibration.MOST


def test_a_small_request_teaches_nothing() -> None:
    calibration = Calibration()
    calibration.learn("m", 20, 60)
    assert calibration.ratio("m") == 1.0


def test_calibration_is_bounded_and_thread_safe() -> None:
    calibration = Calibration()

    def teach(offset: int) -> None:
        for n in range(200):
            calibration.learn(f"m{offset + n}", 1000, 2000)

    threads = [threading.Thread(target=teach, args=(k * 100,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    known = [n for n in range(600) if calibration.ratio(f"m{n}") != 1.0]
    assert 0 < len(known) <= Calibration.MODELS


@given(TEXT, TEXT)
def test_more_text_never_costs_less(one: str, two: str) -> None:
    assert estimator().text(one + two) >= max(estimator().text(one), estimator().text(two))


@given(ENTRIES)
def test_an_estimate_does_not_depend_on_when_it_is_asked(entries: list[TranscriptEntry]) -> None:
    estimate = estimator()
    assert estimate.entries(entries) == estimate.entries(entries) == estimator().entries(entries)


def test_what_was_shortened_for_one_call_is_not_kept_for_the_whole_turn() -> None:
    count = estimator().entry
    shortened = user("x" * 400)
    seen = ref(shortened)
    before = count(shortened)
    del shortened
    assert seen() is None
    assert count(user("x" * 400)) == before


def test_an_entry_is_counted_once_for_all_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[TranscriptEntry] = []

    def count(entry: TranscriptEntry, rates: Rates, reads_pdfs: bool) -> float:
        counted.append(entry)
        return 7.0

    monkeypatch.setattr(tokens, "_entry_tokens", count)
    log: list[TranscriptEntry] = [user("one"), assistant("two")]
    assert [estimator().entries(log) for _ in range(3)] == [14, 14, 14]
    assert counted == log
    assert estimator("anthropic", "claude-opus-4-6").entries(log) == 14
    assert counted == [*log, *log], "another family counts otherwise"
