"""Thinking levels: which parameters to send, and which to try next if a model rejects them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from threading import Lock
from typing import Any, Final, TypeVar

import structlog

from openclaw_workers.errors import FailureReason, ProviderError

log = structlog.get_logger(__name__)

LEVELS: Final = ("off", "minimal", "low", "medium", "high", "xhigh")
Parameters = Mapping[str, Any]
EventT = TypeVar("EventT")

# An error about a message with thinking in it is not about the level.
_ABOUT_LEVEL = re.compile(r"thinking|reasoning|effort|budget_tokens", re.IGNORECASE)
_ABOUT_SHOWING = re.compile(r"summar(y|ies)|display", re.IGNORECASE)
_ABOUT_MESSAGE = re.compile(r"messages\.\d|input\[\d|signature|encrypted_content|reasoning_content", re.IGNORECASE)


def at_or_below(level: str) -> list[str]:
    """The levels to try: the requested one, then each lower one."""
    return list(LEVELS[LEVELS.index(level) :: -1]) if level in LEVELS else ["off"]


def refuses_level(error: ProviderError) -> bool:
    about = f"{error.code or ''} {error.message}"
    return (
        error.reason is FailureReason.FORMAT
        and bool(_ABOUT_LEVEL.search(about))
        and not _ABOUT_MESSAGE.search(error.message)
    )


class Refusals:
    """Remembers what each model has rejected, so that a process learns it once."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._refused: dict[str, set[str]] = {}
        self._hidden: set[str] = set()
        """Models that do not show us their thinking: OpenAI shows it only to verified organisations."""

    def stream(
        self,
        model: str,
        steps: Sequence[Parameters],
        call: Callable[[Parameters], Iterator[EventT]],
        shown: Callable[[Parameters], Parameters] = lambda step: step,
    ) -> Iterator[EventT]:
        """Call with the first step that the model has not rejected yet, or without parameters if it rejected all.

        `shown` adds the request to see the thinking. If only that is rejected, the level stays.

        Raises:
            ProviderError: with `will_differ` set if the model rejected this step; the caller makes the next call.
        """
        with self._lock:
            known, hidden = set(self._refused.get(model, ())), model in self._hidden
        # Two levels may have the same parameters.
        unlike = {repr(step): step for step in [*steps, {}]}
        # The empty step is never remembered as rejected, so there is always one left.
        step = next(step for name, step in unlike.items() if name not in known or not step)
        asked = step if hidden else shown(step)
        try:
            yield from call(asked)
        except ProviderError as error:
            if step and refuses_level(error):
                log.info("model.thinking_refused", model=model, step=asked, error=error.message)
                with self._lock:
                    # A model that hides its thinking may still accept the level, so only the request to show it is
                    # dropped.
                    if asked != step and _ABOUT_SHOWING.search(error.message):
                        self._hidden.add(model)
                    else:
                        self._refused.setdefault(model, set()).add(repr(step))
                error.will_differ = True
            raise
