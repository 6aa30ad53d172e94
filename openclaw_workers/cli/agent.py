"""`ocw agent`: one message in, one answer out."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import NoReturn

import click

from openclaw_workers.cli.context import CliContext, pass_cli
from openclaw_workers.cli.following import Follower
from openclaw_workers.cli.keyboard import check_stdin
from openclaw_workers.cli.output import Exit, WaitOver, echo_json, error_facts, json_option, leave, report
from openclaw_workers.cli.screen import Screen
from openclaw_workers.cli.talking import Result, rejected, result_of, send, wait
from openclaw_workers.engine.accept import Answered, Queued, Rejected
from openclaw_workers.errors import OpenClawError, StoreUnavailable
from openclaw_workers.models.ids import MessageId, SessionKey, new_message_id


class Interrupted(OpenClawError):
    """Ctrl-C while waiting; the run goes on."""


@click.command(
    epilog="""\b
Examples:
  ocw agent -m "what is in my workspace?"
  git diff | ocw agent -m - --session review
  ocw agent -m "hello" --agent work --model offline/demo
  ocw agent -m "a long job" --no-wait --json
  ocw agent -m /status
Exit codes: 0 answered, 1 the run failed or was stopped, 6 the session refused
the message, 124 --timeout is over, 130 Ctrl-C; after the last two the run goes on.
"""
)
@click.option("-m", "--message", required=True, help="What to say, or a /command; - reads it from stdin.")
@click.option("--agent", "agent_id", metavar="ID", default="", help="Which agent; the default one otherwise.")
@click.option("--session", metavar="KEY", default="", help="Which session, such as notes or agent:main:main.")
@click.option("--model", metavar="PROVIDER/MODEL", help="Model for this turn only.")
@click.option("--no-wait", is_flag=True, help="Return as soon as the message is safely in.")
@click.option("--timeout", type=click.FloatRange(min=0), metavar="SECONDS", help="Wait no longer; the run goes on.")
@click.option("--message-id", metavar="ID", help="Repeating a message under its id cannot double it.")
@json_option
@pass_cli
def agent(
    cli: CliContext,
    *,
    message: str,
    agent_id: str,
    session: str,
    model: str | None,
    no_wait: bool,
    timeout: float | None,
    message_id: str | None,
) -> None:
    """Send one message and print the answer as it arrives."""
    if message == "-":
        check_stdin()
        message = sys.stdin.read()
    key = cli.session_key(session, agent=agent_id)
    answer = send(cli, message, key, MessageId(message_id or new_message_id()), model=model)
    match answer:
        case Answered(told):
            _tell(cli, Result(key, "command", session_id=_session_id(cli, key), text=told))
        case Rejected(_, reason):
            _tell(cli, rejected(key, reason))
        case Queued() if no_wait:
            _tell_accepted(cli, answer)
        case Queued():
            _tell(cli, _answer(cli, answer, timeout), is_text_shown=True)


def _answer(cli: CliContext, queued: Queued, timeout: float | None) -> Result:
    follower = Follower(
        cli.stores,
        queued.session_key,
        message=queued.message_id,
        run=queued.run,
        after=queued.event_id,
        seconds=timeout,
    )
    screen = Screen(is_quiet=cli.json)
    try:
        return result_of(queued.session_key, wait(follower, screen))
    except WaitOver as error:
        screen.finish(None)
        _leave_it(cli, follower, error, Exit.WAIT_OVER)
    except KeyboardInterrupt:
        screen.finish(None)
        _leave_it(cli, follower, _interrupted(follower), Exit.INTERRUPTED)


def _interrupted(follower: Follower) -> Interrupted:
    if follower.run:
        what, stop = f"run {follower.run}", f"ocw runs stop {follower.run}"
    else:
        what, stop = "the message", f"ocw agent --session {follower.session} -m /stop"
    return Interrupted(f"interrupted; {what} goes on in {follower.session}", hint=f"stop it with `{stop}`")


def _leave_it(cli: CliContext, follower: Follower, error: OpenClawError, code: Exit) -> NoReturn:
    """Go away from a run that goes on, and say how it stands."""
    if cli.json:
        try:
            run = cli.stores.reader.run(follower.run) if follower.run else None
            session_id = _session_id(cli, follower.session)
        except StoreUnavailable:
            run = session_id = None
        status = run.state if run else "queued"
        unfinished = Result(follower.session, status, follower.run, session_id, error=error_facts(error))
        echo_json(unfinished.as_json())
    else:
        report(type(error).__name__, error.message, error.hint, as_json=False)
    leave(code)


def _tell_accepted(cli: CliContext, queued: Queued) -> None:
    if cli.json:
        accepted = Result(queued.session_key, "accepted", queued.run, _session_id(cli, queued.session_key))
        echo_json(accepted.as_json())
    elif queued.run:
        click.echo(f"accepted as {queued.run} in {queued.session_key}; `ocw runs watch {queued.run}` shows it")
    else:
        click.echo(f"accepted; {queued.session_key} is busy, it will be answered after the present turn")


def _tell(cli: CliContext, result: Result, *, is_text_shown: bool = False) -> None:
    if cli.json:
        if result.session_id is None:
            result = replace(result, session_id=_session_id(cli, result.session))
        echo_json(result.as_json())
    elif result.text and not is_text_shown:
        click.echo(result.text)
    if result.error and not cli.json:
        report(str(result.error["type"]), str(result.error["message"]), result.error["hint"], as_json=False)
    leave(result.exit_code)


def _session_id(cli: CliContext, key: SessionKey) -> str | None:
    row = cli.stores.reader.session(key)
    return row.session_id if row else None
