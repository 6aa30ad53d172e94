"""The goal of each measurement, and whether it was met."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

WIRED = ("chat", "responses", "messages")
"""The APIs that are measured on the wire."""


def for_each_api(goals: Mapping[str, str]) -> dict[str, str]:
    return {f"{api}_{figure}": goal for api in WIRED for figure, goal in goals.items()}


GOALS: dict[str, dict[str, str]] = {
    "turn_overhead": {"ratio": "<= 1.5"},
    "throughput": {"ratio": ">= 0.6"},
    "concurrent_turns": {"ratio_to_ideal": "<= 1.4", "megabytes_per_turn": "<= 0.5"},
    "fan_out": {"ratio_at_8": "<= 1.3", "ratio_at_32": "<= 1.6"},
    "cpu_per_turn": for_each_api({"ratio_at_10": "<= 2.5", "growth_to_400": "<= 1.3", "growth_to_2000": "<= 2"}),
    "connections": for_each_api({"connections": "<= 1"}),
    "busy_sessions": for_each_api({"ratio": "<= 1.15"}),
    "accepting": {"ratio": ">= 0.6"},
    "accept_times": {"ratio": "<= 4"},
    "answering": {"ratio": "<= 1.5"},
    "idle_jobs": {"ratio": "<= 1.5"},
    "due_burst": {"ratio": "<= 2", "seconds_to_accept_all": "<= 30"},
    "client_start": {"agent_ratio": "<= 1.6", "status_ratio": "<= 1.6", "completion_ratio": "<= 1.6"},
    "first_answer": {"ratio_to_goal": "<= 1"},
    "memory_of_up": {"ratio": "<= 0.8"},
    "policy": {"share_percent": "<= 5", "share_with_hooks_percent": "<= 5"},
    "viewers": {"idle_megabytes": "<= 80", "kilobytes_per_viewer": "<= 40"},
    **{key: {"worst_growth": "<= 1.5"} for key in ("scale_sessions", "scale_waiting", "scale_calls", "scale_due")},
    "scale_workers": {
        **{f"idle_scripts_per_second_{workers}": "<= 60" for workers in (1, 10, 40)},
        **{f"late_ms_p99_{workers}": "<= 250" for workers in (1, 10, 40)},
    },
    "wired_fan_out": for_each_api({"ratio_at_8": "<= 1.1", "ratio_at_32": "<= 1.2"}),
}
"""By measurement and figure."""

_COMPARE = {"<=": operator.le, ">=": operator.ge}


def judged(figures: Mapping[str, Any], goals: Mapping[str, str]) -> dict[str, Any]:
    """Add each goal, whether it was met, and whether all were met. Figures without goals stay as they are."""
    results = {name: {"goal": goal, "met": is_met(figures[name], goal)} for name, goal in goals.items()}
    return (
        {**figures, "goals": results, "met": all(each["met"] for each in results.values())}
        if results
        else dict(figures)
    )


def is_met(figure: float, goal: str) -> bool:
    word, bound = goal.split()
    return bool(_COMPARE[word](figure, float(bound)))


def line(name: str, figures: Mapping[str, Any]) -> str:
    """One measurement in a line, each goal next to its figure."""
    goals = figures.get("goals", {})
    shown = [_shown(key, value, goals.get(key)) for key, value in figures.items() if key not in ("goals", "met")]
    return f"{name:18} {'  '.join(shown)}"


def _shown(key: str, value: Any, goal: Mapping[str, Any] | None) -> str:
    return f"{key}={value}" + (f" (goal {goal['goal']}: {'met' if goal['met'] else 'missed'})" if goal else "")
