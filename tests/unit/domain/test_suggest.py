"""Suggestions for misspelt names."""

from __future__ import annotations

from openclaw_workers.domain.suggest import did_you_mean, nearest


def test_the_most_similar_name_is_suggested() -> None:
    assert did_you_mean("colect", ["steer", "collect"]) == "did you mean 'collect'?"
    assert nearest("colect", ["steer", "collect"]) == "collect"


def test_nothing_is_suggested_if_no_name_is_similar() -> None:
    assert did_you_mean("x", ["steer", "collect"]) == ""
    assert did_you_mean("agent:main:a", ["agent:main:bcd"], cutoff=0.99) == ""
