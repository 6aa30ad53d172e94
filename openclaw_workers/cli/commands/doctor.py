"""`ocw doctor`: checks the installation, and says for each finding which command fixes it."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import click

from openclaw_workers.cli.backend.protocol import OutgoingText, TurnOptions
from openclaw_workers.cli.context import CliContext, pass_cli
from openclaw_workers.cli.conversation import send_message, show
from openclaw_workers.cli.output import Exit, echo_json, json_option, leave
from openclaw_workers.cli.render.answer_stream import AnswerStream
from openclaw_workers.cli.render.text import printable, styled
from openclaw_workers.client.deadline import Deadline, WaitOver
from openclaw_workers.client.follow_message import Conversation
from openclaw_workers.domain.accepted import Queued
from openclaw_workers.domain.ids import new_message_id
from openclaw_workers.domain.runs import Run
from openclaw_workers.errors import BadInput, NotFound, StoreUnavailable
from openclaw_workers.views.answers import next_step
from openclaw_workers.views.findings import (
    Finding,
    damage_findings,
    drift_findings,
    file_findings,
    is_well,
    key_findings,
    machine_findings,
    place_findings,
    redis_findings,
    takes_turns,
    worker_findings,
)

PROBE_SECONDS = 60.0
PROBE = "Reply with the word OK and nothing else."
COLOURS = {"ok": "green", "warning": "yellow", "error": "red"}


@click.command(
    epilog="""\b
Examples:
  ocw doctor
  ocw doctor --no-probe                  do not call the models
  ocw doctor --json | jq '.findings[] | select(.state != "ok")'
"""
)
@click.option("--probe/--no-probe", default=True, help="Have a worker call each model that an agent uses, once.")
@json_option
@pass_cli
def doctor(cli: CliContext, probe: bool) -> None:
    """Check the installation, and name the command that fixes each problem.

    The exit code is 1 if something does not work.
    """
    found = []
    for finding in _findings(cli, probe=probe):
        found.append(finding)
        if not cli.json:
            _print(finding)
    if cli.json:
        echo_json({"ok": is_well(found), "findings": [each.as_json() for each in found]})
    leave(Exit.OK if is_well(found) else Exit.RUN_FAILED)


def _findings(cli: CliContext, *, probe: bool) -> Iterator[Finding]:
    backend = cli.backend
    try:
        status = backend.status()
    except StoreUnavailable as error:
        # Everything else needs Redis, and would only repeat this.
        yield Finding("redis", "error", error.message, error.hint or "ocw up")
        return
    models = backend.models()
    yield from redis_findings(status)
    yield from worker_findings(status)
    yield from drift_findings(status)
    if cli.remote is None and cli.in_force.version is not None and cli.in_force.differs:
        yield from file_findings(str(cli.host.source), cli.in_force.version.number)
    yield from place_findings(status)
    yield from key_findings(backend.keys(), models)
    yield from damage_findings(backend.damaged())
    machine = backend.machine()
    yield from machine_findings(machine["freeBytes"], machine["stateDir"], machine["clockAheadMs"])
    if probe and takes_turns(status, "main"):
        for model in models["models"]:
            if model["agents"] and model["hasKey"]:
                yield _probe(cli, model["model"], model["agents"][0])


def _probe(cli: CliContext, model: str, agent: str) -> Finding:
    """One turn of an agent that uses it, with its keys, in a session of its own, which is deleted afterwards."""
    key = cli.backend.session_key("doctor", agent, "")
    outgoing = OutgoingText(text=PROBE, session=key, message_id=new_message_id(), options=TurnOptions(model), thread="")
    queued = send_message(cli, outgoing)
    if not isinstance(queued, Queued):
        return Finding("models", "warning", f"{model} was not called: the session {key} is busy", "try again")
    conversation = Conversation(
        key, message=queued.message_id, run=queued.run, after=queued.event_id, deadline=Deadline(PROBE_SECONDS)
    )
    try:
        answer = show(cli, conversation, AnswerStream(is_quiet=True))
    except WaitOver:
        return Finding("models", "error", f"{model} has not answered for {PROBE_SECONDS:.0f} s", "ocw runs show last")
    finally:
        # Also after a timeout: the probe must leave no session behind.
        _forget(cli, key)
    if answer.error is None:
        return _fallback(model, answer.run) or Finding("models", "ok", f"{model} answers")
    return Finding("models", "error", f"{model}: {answer.error['message']}", str(answer.error["hint"] or ""))


def _fallback(model: str, run: Run | None) -> Finding | None:
    """The model failed, if another one answered instead."""
    if run is None or not run.fallback_from:
        return None
    failed = next(each for each in reversed(run.model_attempts) if each.model == run.fallback_from)
    what = f"{model} failed ({failed.description}): {failed.error}; {run.model} answered instead"
    return Finding("models", "error", what, next_step(failed.reason, run.id))


def _forget(cli: CliContext, key: str) -> None:
    try:
        cli.backend.delete_session(key)
    except (BadInput, NotFound):
        return


def _print(finding: Finding) -> None:
    mark = styled(f"{finding.state:<7}", sys.stdout, fg=COLOURS[finding.state])
    click.echo(f"{mark}  {finding.check:<8}  {printable(finding.message)}")
    if finding.fix:
        click.echo(f"{'':19}{styled('fix:', sys.stdout, fg='cyan')} {printable(finding.fix)}")
