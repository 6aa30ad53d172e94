"""Thinking levels: what to ask for, and what to ask for next when a model refuses."""

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

# An error about a message that holds thinking is not about the level.
_ABOUT_LEVEL = re.compile(r"thinking|reasoning|effort|budget_tokens", re.IGNORECASE)
_ABOUT_SHOWING = re.compile(r"summar(y|ies)|display", re.IGNORECASE)
_ABOUT_MESSAGE = re.compile(r"messages\.\d|input\[\d|signature|encrypted_content|reasoning_content", re.IGNORECASE)


def at_or_below(level: str) -> list[str]:
    """The levels to try: the wanted one, then each lower one."""
    return list(LEVELS[LEVELS.index(level) :: -1]) if level in LEVELS else ["off"]


def refuses_level(error: ProviderError) -> bool:
    about = f"{error.code or ''} {error.message}"
    return (
        error.reason is FailureReason.FORMAT
        and bool(_ABOUT_LEVEL.search(about))
        and not _ABOUT_MESSAGE.search(error.message)
    )


class Refusals:
    """What each model has refused, so that a process learns it once."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._refused: dict[str, set[str]] = {}
        self._hidden: set[str] = set()
        """Models whose thoughts are not for us to see: OpenAI shows them to verified organisations alone."""

    def stream(
        self,
        model: str,
        steps: Sequence[Parameters],
        call: Callable[[Parameters], Iterator[EventT]],
        shown: Callable[[Parameters], Parameters] = lambda step: step,
    ) -> Iterator[EventT]:
        """Call with the first step that the model is not known to refuse; without parameters when it refuses all.

        `shown` adds the wish to see the thoughts; where that alone is refused, the level stays.

        Raises:
            ProviderError: with `again` set where it refused this one: each call is one, for whoever counts them.
        """
        with self._lock:
            known, hidden = set(self._refused.get(model, ())), model in self._hidden
        # The same parameters may stand for two levels.
        unlike = {repr(step): step for step in [*steps, {}]}
        step = next(step for name, step in unlike.items() if name not in known or not step)
        asked = step if hidden else shown(step)
        try:
            yield from call(asked)
        except ProviderError as error:
            if step and refuses_level(error):
                log.info("model.thinking_refused", model=model, step=asked, error=error.message)
                with self._lock:
                    if asked != step and _ABOUT_SHOWING.search(error.message):
                        self._hidden.add(model)
                    else:
                        self._refused.setdefault(model, set()).add(repr(step))
                error.again = True
            raise
