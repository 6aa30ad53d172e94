"""Python imports this at start in a worker with this directory on its path. The environment says what goes wrong.

OCW_DIE=module:Class.method:n[:after]   the worker kills itself before (or after) the n-th call of the method
OCW_SLOW=module:Class.method:seconds    each call of the method is delayed by this time
OCW_SIGN=name                           the answers of its turns end with this name
OCW_GATES=directory                     a model call whose text is "gate <name>" waits for a file of that name;
                                        a step that crashes removes the file first, so each crash needs a new one
OCW_IGNORES_TICKS=1                     its ticker never reports a lost lease; see tests/support/ignores_ticks
"""

from __future__ import annotations

import itertools
import os
import runpy
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from openclaw_workers.domain.runs import RunState
from openclaw_workers.domain.transcript import AssistantEntry, TextBlock, TranscriptEntry, UserEntry
from openclaw_workers.providers.base import ModelRequest
from openclaw_workers.providers.offline import script
from openclaw_workers.providers.offline.program import CRASH, Step
from openclaw_workers.store.turn_records import Lease, Outcome
from openclaw_workers.store.turns import Turns

Wrapper = Callable[[Callable[..., Any]], Callable[..., Any]]


def _replace(place: str, wrapper: Wrapper) -> None:
    module, path = place.split(":")
    owner = getattr(import_module(module), path.split(".")[0])
    name = path.split(".")[1]
    setattr(owner, name, wrapper(getattr(owner, name)))


def _dying(at: int, *, after: bool) -> Wrapper:
    calls = itertools.count(1)

    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        def fatal(*args: Any, **more: Any) -> Any:
            last = next(calls) >= at
            result = None if last and not after else original(*args, **more)
            if last:
                os.kill(os.getpid(), signal.SIGKILL)
            return result

        return fatal

    return wrap


def _slow(seconds: float) -> Wrapper:
    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        def late(*args: Any, **more: Any) -> Any:
            time.sleep(seconds)
            return original(*args, **more)

        return late

    return wrap


def _signing(name: str) -> Wrapper:
    def wrap(commit: Callable[..., Any]) -> Callable[..., Any]:
        def signed(turns: Turns, lease: Lease, agent: str, outcome: Outcome, **more: Any) -> Any:
            if outcome.state is RunState.OK:
                text = f"{outcome.text} by {name}"
                outcome = replace(outcome, text=text, entries=_with_text(outcome.entries, text))
            return commit(turns, lease, agent, outcome, **more)

        return signed

    return wrap


def _with_text(entries: Sequence[TranscriptEntry], text: str) -> list[TranscriptEntry]:
    *before, last = entries
    assert isinstance(last, AssistantEntry)
    return [*before, last.model_copy(update={"content": [TextBlock(text=text)]})]


def _gated(folder: Path) -> None:
    original = script._next_step

    def waiting(request: ModelRequest) -> tuple[UserEntry | None, Step]:
        asked, step = original(request)
        if step.text.startswith("gate "):
            file = folder / step.text.removeprefix("gate ")
            while not file.exists():
                time.sleep(0.02)
            if step.fail == CRASH:
                file.unlink()
        return asked, step

    script._next_step = waiting


if die := os.environ.get("OCW_DIE"):
    where, nth, *when = die.rsplit(":", 2) if die.endswith(":after") else die.rsplit(":", 1)
    _replace(where, _dying(int(nth), after=bool(when)))
if slow := os.environ.get("OCW_SLOW"):
    where, wait = slow.rsplit(":", 1)
    _replace(where, _slow(float(wait)))
if sign := os.environ.get("OCW_SIGN"):
    _replace("openclaw_workers.store.turns:Turns.commit", _signing(sign))
if gates := os.environ.get("OCW_GATES"):
    _gated(Path(gates))
if os.environ.get("OCW_IGNORES_TICKS"):
    runpy.run_path(str(Path(__file__).parents[1] / "ignores_ticks" / "sitecustomize.py"))
