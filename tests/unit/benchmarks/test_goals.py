"""The goals of `make bench`: each is told as met or missed next to its figure."""

from __future__ import annotations

from benchmarks.goals import judged, line


def test_each_goal_is_told_next_to_its_figure_and_kept_with_it() -> None:
    figures = judged({"seconds": 2, "ratio": 1.5, "per_second": 7}, {"ratio": "<= 1.5", "per_second": ">= 8"})

    assert figures["goals"] == {"ratio": {"goal": "<= 1.5", "met": True}, "per_second": {"goal": ">= 8", "met": False}}
    assert figures["met"] is False
    told = " ".join(line("part", figures).split())
    assert told == "part seconds=2 ratio=1.5 (goal <= 1.5: met) per_second=7 (goal >= 8: missed)"


def test_what_has_no_goal_is_neither_met_nor_missed() -> None:
    assert judged({"seconds": 2}, {}) == {"seconds": 2}
    assert line("part", {"seconds": 2}).split() == ["part", "seconds=2"]
