"""The goals of `make bench`: each is shown as met or missed next to its figure."""

from __future__ import annotations

from benchmarks.goals import judged, line


def test_each_goal_is_shown_next_to_its_figure_and_kept_with_it() -> None:
    figures = judged({"seconds": 2, "ratio": 1.5, "per_second": 7}, {"ratio": "<= 1.5", "per_second": ">= 8"})

    assert figures["goals"] == {"ratio": {"goal": "<= 1.5", "met": True}, "per_second": {"goal": ">= 8", "met": False}}
    assert figures["met"] is False
    text = " ".join(line("part", figures).split())
    assert text == "part seconds=2 ratio=1.5 (goal <= 1.5: met) per_second=7 (goal >= 8: missed)"


def test_a_figure_without_a_goal_is_neither_met_nor_missed() -> None:
    assert judged({"seconds": 2}, {}) == {"seconds": 2}
    assert line("part", {"seconds": 2}).split() == ["part", "seconds=2"]
