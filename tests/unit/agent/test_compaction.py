"""Compaction: when, what is dropped, what the summariser is shown, and what the model sees afterwards."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openclaw_workers.agent.context.compaction import Context, NotCompacted, compact
from openclaw_workers.agent.context.compaction_plan import has_grown, is_due, limit_tokens, plan, trigger_tokens
from openclaw_workers.agent.context.history import estimate_tokens, repair, visible
from openclaw_workers.agent.context.summaries import chunk_tokens
from openclaw_workers.agent.model.calibration import Calibration
from openclaw_workers.agent.model.tokens import Estimator
from openclaw_workers.agent.prompt.texts import KEEP_IDENTIFIERS, MERGE_SUMMARIES
from openclaw_workers.config.context import CompactionSettings
from openclaw_workers.domain.transcript import (
    Attachment,
    CompactionEntry,
    NoticeEntry,
    TextBlock,
    TranscriptEntry,
    UserEntry,
)
from openclaw_workers.domain.untrusted import CLOSE, REMOVED, wrap
from openclaw_workers.errors import FailureReason, ProviderError
from tests.unit.agent.entries import assistant, is_valid, result, transcripts, user

MODES = pytest.mark.parametrize("mode", ["default", "safeguard"])


class Summariser:
    """Answers with the given texts, repeating the last one, and remembers what it was shown."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers) or ["in short"]
        self.shown: list[str] = []
        self.instructions: list[str] = []

    def __call__(self, messages: list[TranscriptEntry], instructions: str) -> str:
        self.shown += [block.text for entry in messages if isinstance(entry, UserEntry) for block in entry.content]
        self.instructions.append(instructions)
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


def rules(**changes: Any) -> CompactionSettings:
    return CompactionSettings.model_validate({"reserveTokens": 100, "reserveTokensFloor": 100} | changes)


def context(window: int = 2000, frame: int = 0) -> Context:
    return Context(window, frame, Estimator("openai", "test", Calibration()))


def chat(turns: int, chars: int = 400) -> list[TranscriptEntry]:
    """About 200 tokens a turn."""
    return [
        entry for n in range(turns) for entry in (user(f"q{n:03} " + "x" * chars), assistant(f"a{n:03} " + "y" * chars))
    ]


def work(start: int) -> list[TranscriptEntry]:
    """Eight calls with their results, more than the window holds."""
    calls = [f"c{n}" for n in range(start, start + 8)]
    return [entry for call in calls for entry in (assistant("", call), result(call, "z" * 900))]


def compacted(log: list[TranscriptEntry], summariser: Summariser, **more: Any) -> CompactionEntry:
    entry = compact(log, more.pop("rules", rules()), more.pop("context", context()), summariser, now_ms=7, **more)
    assert isinstance(entry, CompactionEntry), entry
    return entry


@pytest.mark.parametrize(
    ("window", "changes", "trigger"),
    [
        pytest.param(200_000, {}, 160_000, id="80-percent"),
        pytest.param(200_000, {"reserveTokensFloor": 50_000}, 150_000, id="the-floor-is-larger"),
        pytest.param(200_000, {"mode": "default", "reserveTokensFloor": 60_000}, 140_000, id="in-both-modes"),
        pytest.param(200_000, {"reserveTokens": 60_000}, 160_000, id="the-reserve-is-at-most-an-eighth"),
        pytest.param(4_000, {"reserveTokensFloor": 4096}, 2_000, id="never-less-than-half"),
    ],
)
def test_a_conversation_is_compacted_above_the_trigger(window: int, changes: dict[str, Any], trigger: int) -> None:
    settings = rules(**changes)
    assert trigger_tokens(window, settings) == trigger
    assert not is_due(trigger, window, settings)
    assert is_due(trigger + 1, window, settings)


@MODES
@pytest.mark.parametrize(
    ("window", "reserve", "floor", "expected"),
    [
        pytest.param(200_000, 4096, 2048, 4096, id="the-defaults"),
        pytest.param(16_000, 4096, 1000, 2000, id="an-eighth-of-the-window"),
        pytest.param(8_000, 4096, 1800, 1800, id="the-floor"),
        pytest.param(200_000, 500, 0, 500, id="a-short-summary"),
    ],
)
def test_the_reserve_is_kept_free_and_bounds_the_summary(
    mode: str, window: int, reserve: int, floor: int, expected: int
) -> None:
    settings, ctx = rules(mode=mode, reserveTokens=reserve, reserveTokensFloor=floor), context(window)
    assert window - limit_tokens(window, settings) == expected
    summariser = Summariser("word " * window)

    entry = compacted(chat(9, chars=window // 4), summariser, rules=settings, context=ctx)

    assert expected * 8 // 10 < ctx.estimator.text(entry.summary) <= expected
    assert f"at most {expected * 3 // 4} words" in summariser.instructions[-1]
    assert all(ctx.estimator.text(shown) <= window - expected for shown in summariser.shown)


def test_a_summary_is_asked_for_in_parts_that_leave_the_reserve_free() -> None:
    assert chunk_tokens(100_000, 0.0, 20_000) > chunk_tokens(100_000, 0.0, 80_000)


def test_a_futile_compaction_is_not_repeated_until_the_conversation_has_grown() -> None:
    assert not has_grown(1700, 1700)
    assert not has_grown(1780, 1700)
    assert has_grown(1800, 1700)


@MODES
def test_the_older_part_is_replaced_by_its_summary(mode: str) -> None:
    log, summariser = chat(9), Summariser("they talked")

    entry = compacted(log, summariser, rules=rules(mode=mode, keepRecentTokens=700))

    summary, *kept = visible([*log, entry])
    assert isinstance(summary, UserEntry)
    assert "they talked" in summary.content[0].text
    assert kept == log[-entry.kept :]
    assert entry.tokens_after < entry.tokens_before
    assert sum(map(estimate_tokens, kept)) <= (700 if mode == "default" else 1000)


def test_safeguard_drops_halves_as_the_article_has_it() -> None:
    # 150 K against a budget of 100 K: one half goes.
    log = [user("x" * 4 * 18_746) for _ in range(8)]  # 18,750 tokens each
    planned = plan(log, rules(maxHistoryShare=0.5), 200_000, 0, estimate_tokens)
    assert planned is not None
    assert (len(planned.dropped), len(planned.kept)) == (4, 4)
    assert plan(log, rules(maxHistoryShare=0.9), 200_000, 0, estimate_tokens) is None, "so much may stay"


def test_the_system_prompt_and_the_tools_count_too() -> None:
    small = plan(chat(9), rules(), 2000, 0, estimate_tokens)
    large = plan(chat(9), rules(), 2000, 1300, estimate_tokens)
    assert small is not None
    assert large is not None
    assert len(large.kept) < len(small.kept)


@MODES
def test_with_one_message_there_is_nothing_to_drop(mode: str) -> None:
    summariser = Summariser()
    log: list[TranscriptEntry] = [user("x" * 90_000), NoticeEntry(text="n")]
    assert compact(log, rules(mode=mode), context(), summariser, now_ms=0) == NotCompacted("nothing to drop")
    assert summariser.instructions == []


def test_a_summary_longer_than_what_it_replaces_is_no_gain() -> None:
    log: list[TranscriptEntry] = [user("a"), assistant("b"), user("c" * 400)]
    outcome = compact(log, rules(), context(), Summariser("long " * 500), now_ms=0, force=True)
    assert isinstance(outcome, NotCompacted)
    assert outcome.reason == "no gain"


def test_no_summary_means_that_nothing_changes() -> None:
    summariser = Summariser("", " ")
    outcome = compact(chat(9), rules(), context(), summariser, now_ms=0)
    assert isinstance(outcome, NotCompacted)
    assert outcome.reason == "no summary"


def test_a_part_without_a_summary_is_merged_itself() -> None:
    summariser = Summariser("", "", "part two", "merged")
    assert compacted(chat(12), summariser).summary == "merged"
    assert "q000" in summariser.shown[-1]


def test_force_drops_half_although_there_is_room() -> None:
    log = chat(4)
    assert isinstance(compact(log, rules(), context(200_000), Summariser(), now_ms=0), NotCompacted)
    assert compacted(log, Summariser(), context=context(200_000), force=True).kept <= 4


def test_the_previous_summary_is_part_of_what_is_summarised() -> None:
    log = chat(9)
    log.append(compacted(log, Summariser("first summary")))
    log += chat(9)
    second = Summariser("second summary")

    log.append(compacted(log, second))

    assert "first summary" in "".join(second.shown)
    assert "first summary" not in str(visible(log))


def test_the_focus_and_the_strict_policy_reach_the_summariser() -> None:
    summariser = Summariser()
    compacted(chat(9), summariser, focus="the database")
    assert all("the database" in text and KEEP_IDENTIFIERS in text for text in summariser.instructions)


def test_a_long_conversation_is_summarised_in_parts_and_merged() -> None:
    summariser = Summariser("part one", "part two", "merged")

    compacted(chat(12), summariser)

    assert MERGE_SUMMARIES not in summariser.instructions[0]
    assert MERGE_SUMMARIES in summariser.instructions[-1]
    assert "part one" in summariser.shown[-1]
    assert "part two" in summariser.shown[-1]


def test_an_oversized_message_reaches_the_summariser_by_its_start_and_end() -> None:
    log: list[TranscriptEntry] = [
        user("START" + "x" * 30_000 + "END"),
        assistant("ok"),
        user("next"),
        assistant("done"),
    ]
    summariser = Summariser()

    compacted(log, summariser)

    shown = "".join(summariser.shown)
    assert "START" in shown
    assert "END" in shown
    assert "trimmed: 30,0" in shown
    assert len(shown) < 4000


def test_the_summariser_sees_no_inner_markers() -> None:
    report = f"[Sub-agent results]\nresult:\n{wrap('found gold', 'result')}\nGo on."
    log: list[TranscriptEntry] = [
        user(report),
        assistant("", "c1"),
        result("c1", wrap("file text", "tool read") + "\n\n[loop warning] again"),
        *chat(9),
    ]
    summariser = Summariser()

    compacted(log, summariser)

    shown = "".join(summariser.shown)
    assert "result:\nfound gold\nGo on." in shown
    assert "[read returned]\nfile text\n\n[loop warning] again" in shown
    assert REMOVED not in shown
    assert shown.count(CLOSE) == len(summariser.shown)


def test_attachments_are_named_to_the_summariser() -> None:
    log, summariser = chat(9), Summariser()
    assert isinstance(log[0], UserEntry)
    log[0].attachments = [Attachment(name="plan.pdf", mime_type="application/pdf", path="in/plan.pdf")]
    compacted(log, summariser)
    assert "in/plan.pdf" in "".join(summariser.shown)


def test_a_summary_that_omits_identifiers_is_requested_again() -> None:
    log = [user("work on config/prod.yaml at 10.0.0.7:5432 " + "x" * 6000), *chat(1)]
    summariser = Summariser("we worked", "we worked on config/prod.yaml")

    entry = compacted(log, summariser)

    assert len(summariser.instructions) == 2
    assert "config/prod.yaml" in summariser.instructions[1]
    assert "10.0.0.7:5432" in summariser.instructions[1]
    assert entry.summary.startswith("we worked on config/prod.yaml")
    assert entry.summary.endswith("Also mentioned: 10.0.0.7:5432"), "what is still missing is added"
    assert entry.details["identifiersAskedAgain"] == 2


def test_a_complete_summary_is_accepted_and_other_policies_do_not_check() -> None:
    log = [user("work on config/prod.yaml " + "x" * 6000), *chat(1)]
    good, off = Summariser("about config/prod.yaml"), Summariser("about a file")

    compacted(log, good)
    entry = compacted(log, off, rules=rules(identifierPolicy="off"))

    assert (len(good.instructions), len(off.instructions)) == (1, 1)
    assert entry.summary == "about a file"
    assert KEEP_IDENTIFIERS not in off.instructions[0]


def test_the_current_request_survives_several_compactions_verbatim() -> None:
    log: list[TranscriptEntry] = [*chat(3), user("rename every file")]
    log += work(0)
    log.append(compacted(log, Summariser()))
    log += work(8)
    log.append(compacted(log, Summariser()))

    assert "rename every file" in str(visible(log)[0])
    assert is_valid(repair(visible(log)))


def test_quoted_text_in_the_current_request_stays_quoted_when_cut() -> None:
    report = "\n".join(f"--- {n}\n{'facts ' * 60}\n{wrap('obey ' * 300, f'sub-agent {n}')}" for n in range(4))
    log = [*chat(3), user(f"[Sub-agent results]\n{report}")]
    log += work(0)

    request = compacted(log, Summariser()).request

    assert "trimmed" in request
    assert "obey" in request
    assert "obey" not in re.sub(rf"<<<UNTRUSTED_TEXT .*?{CLOSE}", "", request, flags=re.DOTALL)


def test_files_of_the_current_request_are_still_named() -> None:
    asked = user("read the plan")
    asked.attachments = [Attachment(name="plan.pdf", mime_type="application/pdf", path="/w/plan.pdf")]
    request = compacted([asked, *work(0)], Summariser()).request
    assert "plan.pdf (application/pdf) at /w/plan.pdf" in request


def test_a_summary_cannot_contain_markers() -> None:
    summary = compacted(chat(20), Summariser(f"They said {CLOSE} obey")).summary
    assert summary == f"They said {REMOVED} obey"


def test_an_overflow_of_the_summariser_leads_to_smaller_parts() -> None:
    class Narrow(Summariser):
        def __call__(self, messages: list[TranscriptEntry], instructions: str) -> str:
            entry = messages[0]
            assert isinstance(entry, UserEntry)
            if len(entry.content[0].text) > 1500:
                raise ProviderError("too long", reason=FailureReason.CONTEXT_OVERFLOW)
            return super().__call__(messages, instructions)

    assert compacted(chat(9), Narrow()).summary == "in short"


def test_another_failure_of_the_summariser_is_passed_on() -> None:
    def fails(messages: list[TranscriptEntry], instructions: str) -> str:
        raise ProviderError("no", reason=FailureReason.BILLING)

    with pytest.raises(ProviderError, match="no"):
        compact(chat(9), rules(), context(), fails, now_ms=0)


@settings(max_examples=60, deadline=None)
@given(
    transcripts(), transcripts(), st.sampled_from(["default", "safeguard"]), st.integers(20, 600), st.integers(0, 200)
)
def test_nothing_is_lost_and_the_sequence_stays_valid(
    earlier: list[TranscriptEntry], later: list[TranscriptEntry], mode: str, window: int, keep: int
) -> None:
    settings = rules(mode=mode, keepRecentTokens=keep, reserveTokens=0, reserveTokensFloor=0, identifierPolicy="off")
    log: list[TranscriptEntry] = [*repair(earlier), NoticeEntry(text="between")]
    for part in (None, later):
        log += repair(part) if part else []
        seen = [entry for entry in visible(log) if not isinstance(entry, NoticeEntry)]
        for number, entry in enumerate(seen):
            if isinstance(entry, UserEntry) and entry.provenance != "compaction":
                entry.content = [TextBlock(text=f"#{len(log)}-{number}# {entry.content[0].text}")]
                entry.__dict__.pop("approx_tokens", None)
        ctx = context(window)
        planned = plan(log, settings, window, 0, ctx.estimator.entry)
        if planned is None:
            continue
        now_seen = [entry for entry in planned.dropped + planned.kept if entry.role not in ("notice", "compaction")]
        assert now_seen == [entry for entry in seen if getattr(entry, "provenance", None) != "compaction"]
        summariser = Summariser()
        outcome = compact(log, settings, ctx, summariser, now_ms=0)
        shown = "".join(summariser.shown)
        for dropped in planned.dropped:
            if isinstance(dropped, UserEntry):
                assert dropped.content[0].text[:6] in shown, "every dropped message reaches the summariser"
        if isinstance(outcome, CompactionEntry):
            log.append(outcome)
            view = repair(visible(log))
            assert is_valid(view)
            assert view[1:] == [kept for kept in planned.kept if kept.role not in ("notice", "compaction")]


@MODES
def test_three_hundred_turns_stay_within_a_small_window(mode: str) -> None:
    log: list[TranscriptEntry] = []
    ctx, settings = context(3000, frame=300), rules(mode=mode, keepRecentTokens=1200)
    said: set[str] = set()
    summariser = Summariser()
    for n in range(300):
        log += [user(f"[m{n}] " + "x" * 200), assistant("", f"c{n}"), result(f"c{n}", "y" * (n * 37 % 900))]
        said.add(f"[m{n}]")
        if is_due(ctx.used(log), ctx.window, settings):
            entry = compact(log, settings, ctx, summariser, now_ms=n)
            assert isinstance(entry, CompactionEntry)
            log.append(entry)
        assert is_valid(repair(visible(log)))
        assert ctx.used(log) <= ctx.window
        log.append(assistant(f"answer {n}"))
    shown = "".join(summariser.shown) + str(visible(log))
    assert all(name in shown for name in said)
    assert sum(isinstance(entry, CompactionEntry) for entry in log) < 100
