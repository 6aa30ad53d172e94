"""`cli/<name>`: an installed program as a model. It gets the prompt and streams its answer; it has its own tools."""

from __future__ import annotations

import errno
import re
import subprocess
import tempfile
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from functools import partial
from typing import Final

from openclaw_workers.cancel import Cancel
from openclaw_workers.child_processes import NOT_STARTED, ProcessExit, dies_with_this_worker
from openclaw_workers.config.models import CliAgentSettings
from openclaw_workers.domain.transcript import ThinkingBlock, Usage
from openclaw_workers.errors import FailureReason, ProviderError
from openclaw_workers.providers.answers import finish
from openclaw_workers.providers.base import ModelRequest, Provider, StreamEvent, TextDelta, UsageSoFar
from openclaw_workers.providers.http.failures import reason_for
from openclaw_workers.providers.program.output import Output
from openclaw_workers.providers.program.process import RunningProgram
from openclaw_workers.providers.program.prompt import SESSION, Prompt, prompt_for, system_for
from openclaw_workers.redaction import remove_secrets

_SHOWN_CHARS: Final = 300
_FORGOTTEN_KEPT: Final = 1000
_ARGUMENT_TOKENS: Final = (128 << 10) // 4
"""Linux limits an argument to 128 KiB, and messages are counted at four bytes per token."""


class ProgramProvider(Provider):
    """All configured programs."""

    name = "cli"
    api = "cli"
    can_summarise = False
    can_call_tools = False

    def __init__(self, agents: Mapping[str, CliAgentSettings]) -> None:
        self._agents = agents
        self._forgotten: deque[str] = deque(maxlen=_FORGOTTEN_KEPT)
        """Sessions that their programs no longer know."""

    def context_window(self, model: str) -> int:
        settings = self._found(model)
        return (
            min(settings.context_window, _ARGUMENT_TOKENS) if settings.input == "argument" else settings.context_window
        )

    def max_output_tokens(self, model: str) -> int:
        return self._found(model).max_output_bytes // 4

    def stream(self, request: ModelRequest, cancel: Cancel) -> Iterator[StreamEvent]:
        settings = self._found(request.model)
        has_system = any("{system}" in part for part in settings.command)
        prompt = prompt_for(request, can_resume=bool(settings.resume_args), has_system=has_system)
        if prompt.session in self._forgotten:
            prompt = prompt_for(request, can_resume=False, has_system=has_system)
        try:
            yield from _run(settings, request, prompt, cancel)
        except ProviderError as error:
            if error.reason is FailureReason.SESSION_EXPIRED and prompt.session:
                # The next call sends the whole conversation again.
                self._forgotten.append(prompt.session)
                error.will_differ = True
            raise

    def _found(self, model: str) -> CliAgentSettings:
        if model not in self._agents:
            raise ProviderError(
                f"there is no program cli/{model}; configured are {', '.join(sorted(self._agents))}",
                reason=FailureReason.MODEL_NOT_FOUND,
                hint=f"add models.cli.{model}",
            )
        return self._agents[model]


def _run(settings: CliAgentSettings, request: ModelRequest, prompt: Prompt, cancel: Cancel) -> Iterator[StreamEvent]:
    cancel.check()
    output = Output(settings)
    with ExitStack() as stack:
        # A file, not a pipe: nobody reads it while the program runs, and a full pipe would block the program.
        errors = stack.enter_context(tempfile.TemporaryFile())
        given = stack.enter_context(tempfile.TemporaryFile())
        spawn = stack.enter_context(dies_with_this_worker())
        # A file, not a pipe: a program that does not read its input must not block us.
        given.write(prompt.text.encode(errors="replace") if settings.input == "stdin" else b"")
        given.seek(0)
        process = _start(settings, request, prompt, partial(spawn, stdin=given.fileno(), stderr=errors.fileno()))
        running = stack.enter_context(RunningProgram(process, settings, cancel))
        # Many programs do not report usage, and none does before it has answered.
        estimate = Usage(input=len(prompt.text.encode(errors="replace")) // 4)
        yield UsageSoFar(estimate, estimated=True)
        for chunk in running.chunks():
            yield from map(TextDelta, output.take(chunk))
        yield from map(TextDelta, output.rest())
        # The program may have ended only because it was stopped; then its status says nothing.
        cancel.check()
        errors.seek(0)
        complaint = errors.read(_SHOWN_CHARS * 4).decode(errors="replace").strip()
        complaint = remove_secrets(complaint, settings.env.values())[-_SHOWN_CHARS:]
        _check(running, settings, request, complaint, forgotten=bool(prompt.session and not output.content()))
    content = output.content()
    if output.session:
        content.append(ThinkingBlock(thinking="", signature=f"{SESSION}{output.session}"))
    counted = output.usage.total > 0
    yield finish(content, output.usage if counted else estimate, "stop", estimated=not counted)


def _start(
    settings: CliAgentSettings, request: ModelRequest, prompt: Prompt, spawn: Callable[..., subprocess.Popen[bytes]]
) -> subprocess.Popen[bytes]:
    resume = settings.resume_args if prompt.session else ()
    values = {
        "{prompt}": prompt.text,
        "{system}": system_for(request),
        "{model}": request.model,
        "{session}": prompt.session or "",
    }
    try:
        return spawn(
            [_filled(part, values) for part in (*settings.command, *resume)],
            cwd=str(request.workspace) if request.workspace else None,
            extra_env={name: value.get_secret_value() for name, value in settings.env.items()},
        )
    except (OSError, ValueError) as error:
        if getattr(error, "errno", None) == errno.E2BIG:
            raise ProviderError(
                f"the prompt for cli/{request.model} is longer than an argument may be",
                reason=FailureReason.CONTEXT_OVERFLOW,
                hint=f"set models.cli.{request.model}.input to stdin",
            ) from error
        raise _not_started(settings, request, str(error)) from error


def _not_started(settings: CliAgentSettings, request: ModelRequest, why: str) -> ProviderError:
    return ProviderError(
        f"{settings.command[0]} could not be started: {why}",
        reason=FailureReason.MODEL_NOT_FOUND,
        hint=f"install it, or correct models.cli.{request.model}.command",
    )


def _filled(part: str, values: Mapping[str, str]) -> str:
    # In one pass, so that a placeholder inside the prompt's own text is not replaced.
    return re.sub("|".join(map(re.escape, values)), lambda found: values[found[0]], part)


def _check(
    running: RunningProgram, settings: CliAgentSettings, request: ModelRequest, complaint: str, *, forgotten: bool
) -> None:
    name = f"cli/{request.model}"
    if running.too_much:
        raise ProviderError(
            f"{name} wrote more than {settings.max_output_bytes} bytes and was ended",
            reason=FailureReason.UNKNOWN,
            code="output_limit",
        )
    if running.ended is ProcessExit.TIMED_OUT:
        raise ProviderError(
            f"{name} was ended after {settings.timeout_seconds} s", reason=FailureReason.TIMEOUT, code="time_limit"
        )
    if running.status in NOT_STARTED:
        raise _not_started(settings, request, complaint)
    if running.status:
        raise ProviderError(
            f"{name} ended with status {running.status}: {complaint or 'it did not say why'}",
            # Programs report a lost session in many ways. If a resumed one fails without a word, the whole
            # conversation is tried.
            reason=FailureReason.SESSION_EXPIRED if forgotten else reason_for(None, complaint),
            code=f"exit_{running.status}",
        )
