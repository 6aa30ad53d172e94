"""Programs for `offline/script`: the form of a step, and how programs are found in a conversation."""

from __future__ import annotations

import json
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from openclaw_workers.domain.transcript import TranscriptEntry, UserEntry
from openclaw_workers.errors import FailureReason
from openclaw_workers.providers.offline.incoming import is_announce, spoken_text

EXPECTED = (
    'offline/script expects a JSON program as the message: {"steps": [{"delayMs": 0, "text": "hello", '
    '"calls": [{"tool": "read", "input": {"path": "notes.txt"}}], "fail": null}]}; see docs/offline-models.md'
)

_DECODER = json.JSONDecoder()


CRASH = "crash"
Fail = FailureReason | Literal["crash"]


class _Part(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=False, extra="forbid", frozen=True)


class ProgramCall(_Part):
    tool: str
    input: dict[str, Any] = Field(default_factory=dict)


class Step(_Part):
    delay_ms: int = Field(default=0, ge=0)
    text: str = ""
    calls: list[ProgramCall] = Field(default_factory=list)
    fail: Fail | None = None
    chunks: int | None = Field(default=None, ge=1, le=10_000)
    chunk_delay_ms: int = Field(default=0, ge=0)
    echo: bool = False


class Program(_Part):
    steps: list[Step]


def current_steps(messages: list[TranscriptEntry]) -> tuple[UserEntry, list[Step], int] | None:
    """The last user entry with a program, its steps, and the number of answers since.

    It searches from the end, so that the cost does not grow with the history before the program.
    """
    answers = 0
    for entry in reversed(messages):
        if entry.role == "assistant":
            answers += 1
        elif entry.role == "user":
            steps = _steps_of(entry)
            if steps is not None:
                return entry, steps, answers
    return None


def _steps_of(entry: UserEntry) -> list[Step] | None:
    """The steps of all programs in an entry. Results of sub-agents may quote programs, which do not count."""
    texts = [block.text for block in entry.content if not is_announce(entry, block.text)]
    programs = [steps for text in texts if (steps := read_program(text)) is not None]
    return [step for steps in programs for step in steps] if programs else None


def read_program(text: str) -> list[Step] | None:
    """The steps of the program in a text; None if there is no program.

    An invalid program becomes a single step that says what is wrong with it.
    """
    text = spoken_text(text)
    found = _find_object(text)
    if found is None:
        start = text.find("{")
        # A brace in an ordinary sentence is no program; only what looks like an attempt gets an error message.
        meant = start >= 0 and ('"steps"' in text or start == 0)
        return [_refusal(_json_problem(text[start:]))] if meant else None
    try:
        return Program.model_validate(found).steps
    except ValidationError as error:
        wrong = "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors())
        return [_refusal(wrong)]


def _refusal(problem: str) -> Step:
    return Step(text=f"The program was not run: {problem}. {EXPECTED}")


def _find_object(text: str) -> dict[str, Any] | None:
    """The first JSON object with a `steps` key, anywhere in the text."""
    if '"steps"' not in text:
        return None
    start = text.find("{")
    while start >= 0:
        try:
            value, _ = _DECODER.raw_decode(text, start)
        # Deep nesting makes the decoder raise RecursionError, which would end the turn as a fault of ours.
        except (ValueError, RecursionError):
            value = None
        if isinstance(value, dict) and "steps" in value:
            return value
        start = text.find("{", start + 1)
    return None


def _json_problem(text: str) -> str:
    try:
        _DECODER.raw_decode(text)
    except ValueError as error:
        return f"it is not valid JSON ({error})"
    except RecursionError:
        return "it is nested too deeply"
    return "it has no `steps`"
