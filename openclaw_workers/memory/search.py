"""Search an agent's memory: one batch of queries, filtered by agent and scope, fused here."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Literal

from openclaw_workers import clock
from openclaw_workers.memory import sparse
from openclaw_workers.memory.backend import Collection
from openclaw_workers.memory.embedders.base import Embedder, EmbedderUnavailable
from openclaw_workers.memory.exact import exact_terms, has_all
from openclaw_workers.memory.files import date_in
from openclaw_workers.memory.fusion import TOKENS, Ranked, Weights, decay, default_weights, diversify, fuse
from openclaw_workers.memory.points import CHUNK, Condition, Hit, Query, SparseVector, Where, where
from openclaw_workers.memory.scopes import Visibility, session_in
from openclaw_workers.redaction import mask_known

MOST_CANDIDATES = 200
EXACT_CANDIDATES = 1_000
SNIPPET_CHARS = 700
KEYWORD_ONLY = Weights(1.0, 0.0)
DENSE_ONLY = Weights(0.0, 1.0)
Mode = Literal["hybrid", "keyword", "vector"]
SOURCES = ("memory", "sessions")
DAY_MS = 86_400_000


@dataclass(frozen=True, slots=True)
class SearchOptions:
    max_results: int = 6
    min_score: float = 0.0
    sources: tuple[str, ...] = SOURCES
    mode: Mode = "hybrid"
    weights: Weights | None = None
    """None: the defaults of the embedder."""
    candidate_multiplier: int | None = None
    """Candidates for each requested result; None: enough that more would change nothing."""
    mmr_share: float | None = None
    """None: results may repeat each other."""
    half_life_days: float | None = None
    """None: age does not count."""


@dataclass(frozen=True, slots=True)
class Found:
    results: list[Ranked]
    mode: Mode
    note: str = ""
    """Why it was searched by words alone, if not asked for."""


class MemorySearch:
    def __init__(
        self,
        collection: Collection,
        embedder: Embedder | None,
        *,
        no_embedder: str = "",
        now_ms: Callable[[], int] = clock.now_ms,
    ) -> None:
        """`no_embedder` says why there is none."""
        self._collection = collection
        self._embedder = embedder if collection.has_dense else None
        self._no_embedder = no_embedder
        self._now_ms = now_ms

    def search(self, query: str, visible: Visibility, options: SearchOptions) -> Found:
        """The best results, best first.

        Raises:
            IndexUnavailable: the index cannot be asked.
        """
        # A condition without values must not become a query without the condition.
        if not visible.scopes and not visible.sees_all:
            return Found([], options.mode)
        exact = exact_terms(query)
        found = self._fused(query, visible, options, exact)
        results = found.results
        if exact:
            results = [each for each in results if has_all(str(each.payload.get("text", "")), exact)]
        if options.half_life_days:
            results = decay(results, self._age_days, options.half_life_days)
        results = [each for each in results if each.score > 0 and each.score >= options.min_score]
        if options.mmr_share is not None:
            results = diversify(results, options.max_results, options.mmr_share)
        return Found(self._with_payloads(results[: options.max_results]), found.mode, found.note)

    def _with_payloads(self, results: Sequence[Ranked]) -> list[Ranked]:
        """Fetch what was left out of the queries. A result that was removed meanwhile is left out."""
        missing = [each.id for each in results if not each.payload]
        payloads = self._collection.payloads(missing) if missing else {}
        whole = (replace(each, payload=each.payload or payloads.get(each.id, {})) for each in results)
        return [each for each in whole if each.payload]

    def _fused(self, query: str, visible: Visibility, options: SearchOptions, exact: Sequence[str]) -> Found:
        wanted = self._filter(visible, options)
        limit = EXACT_CANDIDATES if exact else _candidates(options)
        vector, note = self._vector(query, options, is_exact=bool(exact))
        # Payloads of hundreds of candidates take longer than the search itself.
        early = bool(exact or options.half_life_days or options.mmr_share is not None)
        queries = []
        if options.mode != "vector" or vector is None:
            # How rare a word is must be counted over this agent's texts alone: other agents' words must not show in
            # the scores.
            corpus = where(kind=CHUNK, agent=visible.agent_id)
            queries.append(Query(sparse.query_vector(query), wanted, limit, corpus, with_payload=early))
        if vector is not None:
            queries.append(Query(vector, wanted, limit, with_payload=early))
        # A query of stop words alone has no terms, and an index need not accept a vector without any.
        asked = [each for each in queries if not isinstance(each.vector, SparseVector) or each.vector.indices]
        answers = dict(zip(map(id, asked), self._collection.search(asked), strict=True)) if asked else {}
        by_text: list[Hit] = []
        by_vector: list[Hit] = []
        for each in queries:
            hits = answers.get(id(each), [])
            if isinstance(each.vector, SparseVector):
                by_text = hits
            else:
                by_vector = hits
        if vector is None:
            return Found(fuse(by_text, [], KEYWORD_ONLY), "keyword", note)
        if options.mode == "vector":
            return Found(fuse([], by_vector, DENSE_ONLY), "vector")
        assert self._embedder is not None
        weights = options.weights or default_weights(self._embedder.provider)
        return Found(fuse(by_text, by_vector, weights), "hybrid")

    def _vector(self, query: str, options: SearchOptions, *, is_exact: bool) -> tuple[list[float] | None, str]:
        """The query's dense vector; without one, the reason."""
        # By meaning alone nothing exact is found, and the call would cost money.
        if options.mode == "keyword" or is_exact:
            return None, ""
        if self._embedder is None:
            return None, self._no_embedder
        try:
            return self._embedder.embed([query])[0], ""
        except EmbedderUnavailable as error:
            return None, str(error)

    def _filter(self, visible: Visibility, options: SearchOptions) -> Where:
        """Each condition costs as much as a third of a search. Only chunks have vectors, so their kind needs none."""
        scope = () if visible.sees_all else (Condition("scope", visible.scopes),)
        source = () if set(options.sources) == set(SOURCES) else (Condition("source", options.sources),)
        return Where((Condition("agent", (visible.agent_id,)), *source, *scope))

    def _age_days(self, result: Ranked) -> float | None:
        """Daily notes and messages age; MEMORY.md and other files do not."""
        day = date_in(str(result.payload["path"]))
        if result.payload["source"] == "memory" and not day:
            return None
        at_ms = int(result.payload.get("time") or 0)
        if day:
            try:
                at_ms = int(datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp() * 1000)
            except ValueError:
                return None
        return (self._now_ms() - at_ms) / DAY_MS


def result_json(result: Ranked, query: str) -> dict[str, Any]:
    """A result as tools and commands show it."""
    payload = result.payload
    snippet, start, end = _snippet(payload, query)
    session = session_in(str(payload["scope"])) if payload["source"] == "sessions" else ""
    return {
        "path": payload["path"],
        "startLine": start,
        "endLine": end,
        "score": round(result.score, 4),
        "snippet": snippet,
        "source": payload["source"],
        "citation": _citation(str(payload["path"]), start, end),
        **({"sessionKey": session} if session else {}),
    }


def _citation(path: str, start: int, end: int) -> str:
    return f"{path}#L{start}" if start == end else f"{path}#L{start}-L{end}"


def _snippet(payload: dict[str, Any], query: str) -> tuple[str, int, int]:
    """The part of a chunk around the line that shares most words with the query, and its lines."""
    text, start, end = mask_known(str(payload["text"])), int(payload["startLine"]), int(payload["endLine"])
    lines = text.split("\n")
    if len(text) <= SNIPPET_CHARS:
        return text, start, end
    if len(lines) != end - start + 1:  # parts of a long line
        return f"{text[:SNIPPET_CHARS]}…", start, end
    wanted = set(TOKENS.findall(query.lower()))
    best = max(range(len(lines)), key=lambda at: len(wanted & set(TOKENS.findall(lines[at].lower()))))
    first = last = best
    size = len(lines[best])
    while size < SNIPPET_CHARS and (first > 0 or last < len(lines) - 1):
        grown = last + 1 if last < len(lines) - 1 else first - 1
        size += len(lines[grown]) + 1
        first, last = min(first, grown), max(last, grown)
    shown = re.sub(r"\n{3,}", "\n\n", "\n".join(lines[first : last + 1]))
    return shown[: SNIPPET_CHARS * 2], start + first, start + last


def _candidates(options: SearchOptions) -> int:
    if options.candidate_multiplier is None:
        return MOST_CANDIDATES
    return min(MOST_CANDIDATES, max(1, options.max_results) * options.candidate_multiplier)
