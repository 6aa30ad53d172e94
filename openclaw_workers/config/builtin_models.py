"""The built-in models. Prices are in dollars per million tokens; a model without a price has an unknown one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from openclaw_workers.config.models import Api, CostSettings


@dataclass(frozen=True, slots=True)
class BuiltinModel:
    id: str
    context_window: int
    max_tokens: int
    cost: CostSettings | None = None
    reasoning: bool = True
    images: bool = True
    files: bool = True
    api: Api | None = None


def _claude(model: str, max_tokens: int, price_in: float, price_out: float) -> BuiltinModel:
    # Writing to the prompt cache costs a quarter more than plain input; reading costs a tenth of it.
    cost = CostSettings(input=price_in, output=price_out, cache_read=price_in / 10, cache_write=price_in * 1.25)
    return BuiltinModel(model, 200_000, max_tokens, cost)


def _gpt(
    model: str,
    window: int,
    max_tokens: int,
    prices: tuple[float, float, float],
    *,
    reasoning: bool = True,
    api: Api | None = None,
) -> BuiltinModel:
    price_in, cached, price_out = prices
    cost = CostSettings(input=price_in, output=price_out, cache_read=cached)
    return BuiltinModel(model, window, max_tokens, cost, reasoning, api=api)


MODELS: Final[dict[str, tuple[BuiltinModel, ...]]] = {
    "anthropic": (
        _claude("claude-opus-4-6", 128_000, 5, 25),
        _claude("claude-sonnet-4-6", 64_000, 3, 15),
        _claude("claude-opus-4-5", 64_000, 5, 25),
        _claude("claude-sonnet-4-5", 64_000, 3, 15),
        _claude("claude-haiku-4-5", 64_000, 1, 5),
    ),
    "openai": (
        _gpt("gpt-5.2", 400_000, 128_000, (1.75, 0.175, 14)),
        _gpt("gpt-5.1", 400_000, 128_000, (1.25, 0.125, 10)),
        _gpt("gpt-5", 400_000, 128_000, (1.25, 0.125, 10)),
        _gpt("gpt-5-mini", 400_000, 128_000, (0.25, 0.025, 2)),
        _gpt("gpt-5-nano", 400_000, 128_000, (0.05, 0.005, 0.4)),
        _gpt("o3", 200_000, 100_000, (2, 0.5, 8)),
        _gpt("o4-mini", 200_000, 100_000, (1.1, 0.275, 4.4)),
        _gpt("gpt-4.1", 1_047_576, 32_768, (2, 0.5, 8), reasoning=False),
        _gpt("gpt-4.1-mini", 1_047_576, 32_768, (0.4, 0.1, 1.6), reasoning=False),
        _gpt("gpt-4o", 128_000, 16_384, (2.5, 1.25, 10), reasoning=False, api="openai-completions"),
        _gpt("gpt-4o-mini", 128_000, 16_384, (0.15, 0.075, 0.6), reasoning=False, api="openai-completions"),
    ),
}

_ASSUMED: Final[dict[str, BuiltinModel]] = {
    "anthropic": BuiltinModel("", 200_000, 64_000),
    "openai": BuiltinModel("", 128_000, 16_384, reasoning=False, api="openai-completions"),
}
_ASSUMED_NEW_GPT: Final = BuiltinModel("", 400_000, 128_000)
# Cautious: a window that is assumed too small costs an early compaction, one too large makes requests fail.
_ASSUMED_ELSEWHERE: Final = BuiltinModel("", 32_000, 8_192, reasoning=False, images=False, files=False)


def assumed_model(provider: str, model: str) -> BuiltinModel:
    """What to assume about an unlisted model: a dated name means that model, a new one resembles its family."""
    for known in MODELS.get(provider, ()):
        if re.fullmatch(rf"{re.escape(known.id)}-(\d{{8}}|\d{{4}}-\d\d-\d\d|latest)", model):
            return known
    if provider == "openai" and re.match(r"gpt-([5-9]|\d\d)", model):
        return _ASSUMED_NEW_GPT
    return _ASSUMED.get(provider, _ASSUMED_ELSEWHERE)


def thinks_adaptively(model: str) -> bool:
    """Whether a Claude model takes an effort level for thinking; models up to 4.5 take a token budget instead."""
    # The last part keeps a date, as in claude-opus-4-20250514, from being read as a minor version.
    found = re.search(r"claude-[a-z]+-(\d{1,2})(?:-(\d{1,2}))?(?!\d)", model)
    if not found:
        return False
    return (int(found[1]), int(found[2] or 0)) >= (4, 6)
