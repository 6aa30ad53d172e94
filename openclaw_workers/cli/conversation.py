"""Sending a message and seeing it answered: what `ocw agent` and `ocw chat` have in common."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from openclaw_workers.cli.follow import Ended, Follower, Gap, Note, Quiet
from openclaw_workers.cli.output import Exit, echo_json, report
from openclaw_workers.cli.render.screen import Screen
from openclaw_workers.domain.encoding import replace_surrogates
from openclaw_workers.domain.ids import MessageId, RunId, SessionKey
from openclaw_workers.domain.messages import Authority, QueueMode, Route
from openclaw_workers.domain.runs import Run, RunState
from openclaw_workers.domain.session_key import agent_of
from openclaw_workers.errors import StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from openclaw_workers.cli.context import CliContext
    from openclaw_workers.domain.transcript import Attachment, Usage
    from openclaw_workers.engine.intake.accept import Answered, Queued, Rejected

CHANNEL = "cli"

_WHY = {
    RunState.ERROR: "RunFailed",
    RunState.KILLED: "RunStopped",
    RunState.TIMEOUT: "RunTimedOut",
}


@dataclass(frozen=True, slots=True)
class Result:
    """The answer to one message; `as_json` gives the fields docs/cli.md promises."""

    session: SessionKey
    status: str
    run: RunId | None = None
    session_id: str | None = None
    text: str | None = None
    usage: Usage | None = None
    error: dict[str, str | None] | None = None
    model: str | None = None
    cost: float | None = None
    fallback_from: str | None = None
    reason: str | None = None
    tree: dict[str, Any] | None = None
    """With `--wait tree`: the later replies, and what became of the sub-agents."""

    @property
    def exit_code(self) -> Exit:
        if self.status == "rejected":
            return Exit.REFUSED
        return Exit.RUN_FAILED if self.error else Exit.OK

    def as_json(self) -> dict[str, Any]:
        """The tree's fields stand beside the others."""
        return {**self._own_facts(), **(self.tree or {})}

    def _own_facts(self) -> dict[str, Any]:
        return {
            "ok": self.error is None,
            "runId": self.run,
            "sessionKey": self.session,
            "sessionId": self.session_id,
            "status": self.status,
            "reason": self.reason,
            "text": self.text,
            "usage": usage_json(self.usage) if self.usage else None,
            "model": self.model,
            "fallbackFrom": self.fallback_from,
            "cost": self.cost,
            "error": self.error,
        }


def tell(cli: CliContext, result: Result, *, is_text_shown: bool) -> None:
    """Print an answer, or why there is none."""
    if cli.json:
        if result.session_id is None:
            result = replace(result, session_id=session_id_of(cli, result.session))
        echo_json(result.as_json())
    elif result.text and not is_text_shown:
        click.echo(result.text)
    if result.error and not cli.json:
        report(str(result.error["type"]), str(result.error["message"]), result.error["hint"], as_json=False)


def session_id_of(cli: CliContext, key: SessionKey) -> str | None:
    row = cli.stores.reader.session(key)
    return row.session_id if row else None


def usage_json(usage: Usage) -> dict[str, int]:
    return {**usage.model_dump(by_alias=True), "total": usage.total}


def send(
    cli: CliContext,
    text: str,
    session: SessionKey,
    message_id: MessageId,
    *,
    model: str | None = None,
    system: str | None = None,
    thinking: str | None = None,
    context_tokens: int | None = None,
    timeout_seconds: int | None = None,
    mode: QueueMode | None = None,
    thread: str = "",
    files: Sequence[Path] = (),
) -> Queued | Rejected | Answered:
    """Hand a message in as the owner of this installation.

    Raises:
        BadInput: the text, the command, the model or a file is not usable.
        StoreUnavailable: with the id under which it is safe to repeat.
    """
    # What was typed in bytes that are no UTF-8 can be neither stored nor looked up.
    message_id = MessageId(replace_surrogates(message_id))
    model = None if model is None else _full_name(cli, replace_surrogates(model))
    intake = cli.intake  # where no Redis is known this ends here, and nothing can be in
    attachments = _attached(cli, files, session, message_id) if files else ()
    try:
        return intake.accept(
            text,
            session=session,
            route=Route(channel=CHANNEL, thread_id=replace_surrogates(thread)),
            authority=Authority.OWNER,
            message_id=message_id,
            model=model,
            extra_system_prompt=system,
            thinking=thinking,
            context_tokens=context_tokens,
            timeout_seconds=timeout_seconds,
            mode=mode,
            attachments=attachments,
        )
    except StoreUnavailable as error:
        hint = f"it may or may not be in; repeating it with --message-id {message_id} cannot double it"
        raise StoreUnavailable(f"the message was not accepted: {error.message}", hint=hint) from error


def _attached(cli: CliContext, files: Sequence[Path], session: SessionKey, message: MessageId) -> list[Attachment]:
    from pathlib import Path

    from openclaw_workers.config.resolve import workspace_dir
    from openclaw_workers.engine.intake.attachments import attach

    own = cli.stores.reader.row(session).get("spawnedWorkspaceDir")  # a sub-agent may work in a directory of its own
    agents = workspace_dir(cli.loaded.settings, agent_of(session), cli.loaded.state_dir)
    return attach(files, Path(own) if own else agents, message)


def _full_name(cli: CliContext, model: str) -> str:
    """Before anything is stored, also the files that go with the message."""
    from openclaw_workers.config.model_names import find_model

    return find_model(cli.loaded.settings, model)


def screen_for(cli: CliContext, session: SessionKey) -> Screen:
    """A screen that shows as much as the session has switched on."""
    if cli.json:
        return Screen(is_quiet=True)
    try:
        row = cli.stores.reader.row(session)
    except StoreUnavailable:
        return Screen()
    return Screen(verbose=row.get("verboseLevel") or "on", usage=row.get("responseUsage") or "off")


def wait(follower: Follower, screen: Screen, *, on_quiet: Callable[[], None] = lambda: None) -> Ended:
    """Show a turn until it has ended."""
    for update in follower:
        match update:
            case Ended():
                screen.finish(update.run.text if update.run else None)
                if update.run:
                    screen.tell_cost(update.run)
                return update
            case Note(text):
                screen.note(text)
            case Gap():
                screen.miss()
            case Quiet():
                on_quiet()
            case event:
                screen.show(event)
    raise AssertionError("a follower ends with Ended")


def result_of(session: SessionKey, ended: Ended) -> Result:
    if ended.run is not None:
        return _of_run(ended.run)
    receipt = ended.receipt
    assert receipt is not None, "one of the two is always there"
    if receipt.state == "rejected":
        return rejected(session, receipt.reason or "busy")
    hint = "send it again" if receipt.state == "cancelled" else "`/queue` shows and sets the queue's limits"
    error = {"type": f"Message{receipt.state.capitalize()}", "message": _settled(receipt.state, receipt.reason)}
    return Result(session, receipt.state, error={**error, "hint": hint})


def _of_run(run: Run) -> Result:
    error: dict[str, str | None] | None = None
    if run.state is not RunState.OK:
        message = run.error or f"the turn was stopped ({run.reason or 'no reason given'})"
        error = {"type": _WHY[run.state], "message": message, "hint": f"`ocw runs show {run.id}` tells more"}
    said, took = run.text or "", run.usage
    answered = run.model, run.cost, run.fallback_from, run.reason
    return Result(run.session_key, run.state, run.id, run.session_id, said, took, error, *answered)


def _settled(state: str, reason: str | None) -> str:
    return f"the message was {state} before a turn began" + (f" ({reason})" if reason else "")


def rejected(session: SessionKey, reason: str) -> Result:
    told = "is busy and its queue mode is reject" if reason == "busy" else "has a full queue"
    hint = "wait for its turn to end (`ocw runs watch`), or choose another queue mode with `/queue`"
    return Result(session, "rejected", error={"type": "Rejected", "message": f"{session} {told}", "hint": hint})
