"""Combine the two rankings of a search: by words and by meaning.

Words decide, meaning adds a vote. The default weights are cautious, not the best ones of a data set;
docs/memory.md states what they reach on the project's own questions.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from openclaw_workers.memory.points import Hit

HALF_SURE = 4.0
"""A BM25 score of this size is worth one half."""
TOKENS = re.compile(r"[A-Za-z0-9_]+|[\u3040-\u9fff\uac00-\ud7ff]")


@dataclass(frozen=True, slots=True)
class Weights:
    text: float
    vector: float

    def normalised(self) -> Weights:
        total = self.text + self.vector or 1.0
        return Weights(self.text / total, self.vector / total)


DEFAULTS = {"offline": Weights(0.8, 0.2)}
"""Word vectors know little of a sentence, so their vote is small."""
DEFAULT_OTHER = Weights(0.6, 0.4)


def default_weights(provider: str) -> Weights:
    return DEFAULTS.get(provider, DEFAULT_OTHER)


@dataclass(frozen=True, slots=True)
class Ranked:
    id: str
    score: float
    """0..1."""
    payload: dict[str, Any]


def fuse(by_text: Sequence[Hit], by_vector: Sequence[Hit], weights: Weights) -> list[Ranked]:
    """Best first. Within one search scores compare; across searches they say how sure the best one is."""
    weights = weights.normalised()
    text, vector = _relative(by_text, floor=0.0), _relative(by_vector, floor=_lowest(by_vector))
    # Without this factor the best of bad results would score as high as a good one, and no minimum score could work.
    sure = max(_sure(by_text), max((hit.score for hit in by_vector), default=0.0) if weights.vector else 0.0)
    payloads = {hit.id: hit.payload for hit in (*by_vector, *by_text)}

    def score(each: str) -> float:
        return _bounded((weights.text * text.get(each, 0.0) + weights.vector * vector.get(each, 0.0)) * sure)

    ranked = [Ranked(each, score(each), payload) for each, payload in payloads.items()]
    # The id breaks ties, so that the same search gives the same order each time.
    return sorted(ranked, key=lambda result: (-result.score, result.id))


def decay(results: Sequence[Ranked], age_days: Callable[[Ranked], float | None], half_life_days: float) -> list[Ranked]:
    """Lower the scores of what is old; None: it does not age."""
    aged = []
    for result in results:
        days = age_days(result)
        factor = 1.0 if days is None else math.exp(-math.log(2) * max(0.0, days) / half_life_days)
        aged.append(replace(result, score=result.score * factor))
    return sorted(aged, key=lambda result: (-result.score, result.id))


def diversify(results: Sequence[Ranked], count: int, share: float) -> list[Ranked]:
    """Maximal marginal relevance: prefer results that say something new. `share` is the weight of relevance."""
    words = {result.id: frozenset(TOKENS.findall(str(result.payload.get("text", "")).lower())) for result in results}
    top = max((result.score for result in results), default=1.0) or 1.0
    left, chosen = list(results), list[Ranked]()
    while left and len(chosen) < count:

        def worth(result: Ranked) -> float:
            alike = max((_overlap(words[result.id], words[other.id]) for other in chosen), default=0.0)
            return share * result.score / top - (1 - share) * alike

        best = max(left, key=worth)
        chosen.append(best)
        left.remove(best)
    return chosen


def _relative(hits: Sequence[Hit], *, floor: float) -> dict[str, float]:
    """Scores as a share of the way from `floor` to the best one."""
    top = max((hit.score for hit in hits), default=0.0)
    span = top - floor
    return {hit.id: _bounded((hit.score - floor) / span) if span > 0 else 1.0 for hit in hits}


def _lowest(hits: Sequence[Hit]) -> float:
    """Nearly all texts have some likeness; what the last candidate has counts as none."""
    return min((hit.score for hit in hits), default=0.0) if len(hits) > 1 else 0.0


def _sure(hits: Sequence[Hit]) -> float:
    top = max((hit.score for hit in hits), default=0.0)
    return top / (top + HALF_SURE)


def _bounded(value: float) -> float:
    return min(1.0, max(0.0, value))


def _overlap(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / len(one | other) if one or other else 0.0
