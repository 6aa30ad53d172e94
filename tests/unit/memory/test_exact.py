"""Exact searches."""

from __future__ import annotations

import pytest

from openclaw_workers.memory.exact import exact_terms, has_all


@pytest.mark.parametrize(
    ("query", "terms"),
    [
        ("where is it", []),
        ('"blue pot"', ["blue pot"]),
        ('find "blue pot" and “red cup”', ["blue pot", "red cup"]),
        ("keys AND garage", ["keys", "garage"]),
        ('"blue pot" AND keys', ["blue pot", "keys"]),
        ("钥匙 AND 花盆", ["钥匙", "花盆"]),
        ("rock and roll", []),
    ],
)
def test_terms(query: str, terms: list[str]) -> None:
    assert exact_terms(query) == terms


@pytest.mark.parametrize(
    ("text", "terms", "found"),
    [
        ("The Blue  pot", ["blue pot"], True),
        ("bluebell pot", ["blue"], False),
        ("钥匙在花盆下面", ["花盆"], True),
        ("a only", ["a", "b"], False),
    ],
)
def test_all_must_appear(text: str, terms: list[str], found: bool) -> None:
    assert has_all(text, terms) is found
