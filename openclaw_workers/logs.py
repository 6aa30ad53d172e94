"""Logging for every process: events with fields, in one line format, without secrets.

Events are named `noun.past_participle` (`run.ended`). `run_context` binds the fields in `CONTEXT_FIELDS` once
per run; they then appear on each line, including those of Celery, kombu and redis-py.
"""

from __future__ import annotations

import json as jsonlib
import logging
import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from openclaw_workers.domain.encoding import replace_surrogates
from openclaw_workers.redaction import mask_secrets

#: Fields that say which run a line belongs to, in the order they are printed.
CONTEXT_FIELDS = ("runId", "sessionKey", "sessionId", "agentId", "runKind", "lane", "parentRunId")

#: `ocw up` sets it for its child processes, because the supervisor adds time and name to each line itself.
SUPERVISED_VARIABLE = "OPENCLAW_SUPERVISED"

_context: ContextVar[Mapping[str, str]] = ContextVar("run_context", default=MappingProxyType({}))
_PLAIN_VALUE = re.compile(r"[^\s\"=\x00-\x1f\x7f]+")


def setup_logging(*, json: bool = False, level: str | int = "info") -> None:
    """Send structlog and standard logging to stderr in one format; a second call replaces the first."""
    shared: list[Processor] = [
        _with_context,
        structlog.stdlib.add_log_level,
        structlog.stdlib.ExtraAdder(),
        structlog.processors.format_exc_info,
    ]
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    stamps = structlog.processors.TimeStamper(fmt="iso", utc=True, key="at") if json else _local_time
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                stamps,
                _render_json if json else _render_line,
            ],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper() if isinstance(level, str) else level)


@contextmanager
def run_context(**fields: str | None) -> Iterator[None]:
    """Add `fields` (see `CONTEXT_FIELDS`) to each line logged inside the block; skip those that are None."""
    outer = _context.set({**_context.get(), **{name: value for name, value in fields.items() if value is not None}})
    try:
        yield
    finally:
        _context.reset(outer)


def _with_context(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    return {**_context.get(), **event}


def _local_time(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    if SUPERVISED_VARIABLE not in os.environ:
        structlog.processors.TimeStamper(fmt="%H:%M:%S", utc=False, key="at")(_logger, _method, event)
    return event


def _render_json(_logger: WrappedLogger, _method: str, event: EventDict) -> str:
    return _printable(jsonlib.dumps(event, default=str, ensure_ascii=False))


def _render_line(_logger: WrappedLogger, _method: str, event: EventDict) -> str:
    at, level, name = (event.pop(key, "") for key in ("at", "level", "event"))
    exception = event.pop("exception", None)
    # Celery's own messages may span lines.
    head = [at, level.upper() if level not in ("info", "debug") else "", " ".join(str(name).split())]
    fields = {key: event.pop(key) for key in CONTEXT_FIELDS if key in event}
    pairs = [f"{key}={_quoted(value)}" for key, value in {**event, **fields}.items()]
    line = " ".join(part for part in [*head, *pairs] if part)
    return _printable(f"{line}\n{exception}" if exception else line)


def _printable(line: str) -> str:
    """Without secrets, and without halves of characters, which no stream can encode."""
    return mask_secrets(replace_surrogates(line))


def _quoted(value: Any) -> str:
    text = str(value)
    # A value must not look like two fields or two lines, and must not send escape codes to a terminal.
    return text if _PLAIN_VALUE.fullmatch(text) else jsonlib.dumps(text, ensure_ascii=False)
