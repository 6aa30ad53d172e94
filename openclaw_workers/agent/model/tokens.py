"""How many tokens a request will cost: an estimate by script and model family, corrected by what the API reports.

No tokenizer is asked. They differ by model and version, and are slow on large texts. They are not needed either: a
window is kept with a margin, and each answer says how large its request really was.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

from openclaw_workers.agent.model.calibration import Calibration
from openclaw_workers.agent.model.candidates import Candidate
from openclaw_workers.domain.media_types import PDF
from openclaw_workers.domain.tool_spec import ToolSpec
from openclaw_workers.domain.transcript import (
    Attachment,
    CompactionEntry,
    NoticeEntry,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    TranscriptEntry,
    Usage,
)
from openclaw_workers.providers.base import ModelRequest
from openclaw_workers.providers.pdf_pages import pdf_pages

ENTRY_TOKENS = 4
"""What a message costs beside its content: its role, and the marks around it."""
CALL_TOKENS = 12
IMAGE_TOKENS = 1600
"""The most that current APIs count for one image."""
PAGE_TOKENS = 2400
"""About what they count for a full page of a PDF, which is read both as text and as an image."""
MARGIN = 1.25
"""Of the estimate, where too little would be worse than too much."""
FILE_TOKENS = 60
"""The line that names a file the model is not sent."""

_SHOWN = re.compile("image/|application/pdf$")
_ASCII = re.compile(r"[\x00-\x7f]+")
_DENSE = re.compile(
    r"[\u1100-\u11ff\u2e80-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff00-\uffef\U00010000-\U0010ffff]+"
)
"""Scripts with about one token to a character: Chinese, Japanese, Korean; and emoji."""


@dataclass(frozen=True, slots=True)
class Rates:
    """Characters to a token, by script."""

    ascii: float = 4.0
    dense: float = 1.0
    other: float = 2.0

    def tokens(self, text: str) -> float:
        if text.isascii():
            return len(text) / self.ascii
        plain = sum(map(len, _ASCII.findall(text)))
        dense = sum(map(len, _DENSE.findall(text)))
        return plain / self.ascii + dense / self.dense + (len(text) - plain - dense) / self.other


DEFAULT_RATES = Rates()
# Claude's tokenizer makes more tokens of the same text than others do.
_FAMILIES = {"anthropic": Rates(ascii=3.5, dense=0.8, other=1.8)}


def rates_for(provider: str, model: str) -> Rates:
    """By the provider, or by the model's name where it is served by another: `openrouter/anthropic/claude-x`."""
    if provider in _FAMILIES:
        return _FAMILIES[provider]
    return _FAMILIES["anthropic"] if "claude" in model.lower() else DEFAULT_RATES


@dataclass(frozen=True, slots=True)
class _Summed:
    """A list of entries, as long as it was, and what it costs."""

    entries: Sequence[TranscriptEntry]
    length: int
    tokens: float
    has_files: bool


class Estimator:
    """Counts for one model. The estimate of an entry is kept with it, for later turns too: entries never change."""

    def __init__(self, provider: str, model: str, calibration: Calibration, *, reads_pdfs: bool = True) -> None:
        self._reads_pdfs = reads_pdfs
        self._name = f"{provider}/{model}"
        self._rates = rates_for(provider, model)
        self._calibration = calibration
        self._summed: _Summed | None = None
        self._saw_files = False
        # By what the estimate depends on, not by model: models of one family share it.
        self._kept = f"tokens {self._rates} {reads_pdfs}"

    def text(self, text: str) -> int:
        return ceil(self._rates.tokens(text) * self._ratio)

    def entry(self, entry: TranscriptEntry) -> int:
        return ceil(self._raw(entry) * self._ratio)

    def entries(self, entries: Sequence[TranscriptEntry]) -> int:
        return ceil(self._sum(entries) * self._ratio)

    def frame(self, system: str, specs: Sequence[ToolSpec]) -> int:
        """What each request carries beside its messages."""
        return ceil(self._raw_frame(system, specs) * self._ratio)

    def request(self, request: ModelRequest) -> int:
        return ceil(self._raw_request(request) * self._ratio)

    def most(self, request: ModelRequest) -> int:
        """Tokens that a request will hardly pass: this much is reserved for it."""
        return ceil(self._raw_request(request) * self._ratio * MARGIN)

    def learn(self, system: str, specs: Sequence[ToolSpec], messages: Sequence[TranscriptEntry], usage: Usage) -> None:
        """Compare a request with the input tokens its answer reported.

        One with images or documents teaches nothing: what is off there is not the estimate of text.
        """
        estimated = self._raw_frame(system, specs) + self._sum(messages)
        if self._summed and self._summed.has_files and any(map(_has_pages, messages)):
            return
        self._calibration.learn(self._name, estimated, usage.input + usage.cache_read + usage.cache_write)

    @property
    def _ratio(self) -> float:
        return self._calibration.ratio(self._name)

    def _raw_request(self, request: ModelRequest) -> float:
        frame = self._raw_frame(request.system + request.system_tail + request.worker_line, request.tools)
        return frame + self._sum(request.messages)

    def _raw_frame(self, system: str, specs: Sequence[ToolSpec]) -> float:
        return self._rates.tokens(system) + sum(CALL_TOKENS + self._rates.tokens(spec.text) for spec in specs)

    def _sum(self, entries: Sequence[TranscriptEntry]) -> float:
        """Of one call the same list is asked for several times: to make room, to cut results, and to learn."""
        # A list of entries only ever grows, so its identity and length tell whether it is the same.
        if self._summed is None or self._summed.entries is not entries or self._summed.length != len(entries):
            self._saw_files, kept = False, self._kept
            known: list[Any] = [entry.derived.get(kept) for entry in entries]
            new = [entry for entry, tokens in zip(entries, known, strict=True) if tokens is None]
            tokens = sum(filter(None, known)) + sum(map(self._raw, new))
            self._summed = _Summed(entries, len(entries), tokens, self._saw_files)
        return self._summed.tokens

    def _raw(self, entry: TranscriptEntry) -> float:
        known: float | None = entry.derived.get(self._kept)
        if known is None:
            known = _entry_tokens(entry, self._rates, self._reads_pdfs)
            if entry.files:
                self._saw_files = True  # and may be gone or changed by the next turn, so nothing is kept
            else:
                entry.derived[self._kept] = known
        return known


def estimator_for(candidate: Candidate, calibration: Calibration) -> Estimator:
    provider, model = candidate.provider, candidate.model
    return Estimator(provider.name, model, calibration, reads_pdfs=provider.reads_pdfs(model))


def _has_pages(entry: TranscriptEntry) -> bool:
    return any(_SHOWN.match(file.mime_type) for file in entry.files)


def _file_tokens(file: Attachment, reads_pdfs: bool) -> int:
    if file.mime_type == PDF:
        return FILE_TOKENS + (pdf_pages(file.path) * PAGE_TOKENS if reads_pdfs else 0)
    return IMAGE_TOKENS if file.mime_type.startswith("image/") else FILE_TOKENS


def _entry_tokens(entry: TranscriptEntry, rates: Rates, reads_pdfs: bool) -> float:
    if isinstance(entry, NoticeEntry | CompactionEntry):
        return 0
    attached = sum(_file_tokens(file, reads_pdfs) for file in entry.files)
    return ENTRY_TOKENS + attached + sum(_block_tokens(block, rates) for block in entry.content)


def _block_tokens(block: object, rates: Rates) -> float:
    match block:
        case TextBlock():
            return rates.tokens(block.text)
        case ThinkingBlock():
            return rates.tokens(block.thinking)
        case ToolCallBlock():
            arguments = json.dumps(block.arguments, ensure_ascii=False)
            return CALL_TOKENS + rates.tokens(block.name) + rates.tokens(arguments)
        case _:
            return 0  # a file of the result, which is counted with the files
