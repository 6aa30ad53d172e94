"""`ocw cron`: scheduled jobs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from openclaw_workers.cli.context import CliContext, pass_cli
from openclaw_workers.cli.named_ids import job_named
from openclaw_workers.cli.output import COUNT, echo_json, json_option
from openclaw_workers.cli.render.jobs import firings_table, job_details, jobs_table, moment

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS = (
    click.option("--name", help="Display name."),
    click.option("--at", help="Once: an ISO time, or a duration from now such as 20m."),
    click.option("--every", help="At a fixed interval, such as 30m."),
    click.option("--anchor", help="When --every counts from, as an ISO time."),
    click.option("--cron", help="A cron expression, or @hourly, @daily, @weekly."),
    click.option("--tz", help="Time zone of --at and --cron, such as Europe/Berlin."),
    click.option("--agent", "agent_id", help="The agent that runs the job."),
    click.option("--session", "session_target", help="main, isolated or session:KEY."),
    click.option("-m", "--message", help="The message that the agent answers."),
    click.option("--event", "system_event", help="An event for the session, instead of a message."),
    click.option("--wake", "wake_mode", type=click.Choice(["now", "next-heartbeat"]), help="When it starts a turn."),
    click.option("--model", help="Model of the turn."),
    click.option("--fallback", "fallbacks", multiple=True, help="A model to try if that one fails; can be repeated."),
    click.option(
        "--thinking", type=click.Choice(["off", "minimal", "low", "medium", "high", "xhigh"]), help="Thinking level."
    ),
    click.option("--timeout-seconds", type=COUNT, help="How long the turn may take."),
    click.option("--light-context", is_flag=True, default=None, help="Leave the workspace files out of the prompt."),
    click.option(
        "--tool", "tools_allow", multiple=True, help="A tool that the turn may use; default: all. Repeatable."
    ),
    click.option(
        "--delivery",
        type=click.Choice(["announce", "none", "webhook"]),
        help="Where the answer goes: to a chat, nowhere, or to the address in --to.",
    ),
    click.option("--channel", help="Channel to send to; default: where the session last got a message."),
    click.option("--to", help="Chat on that channel, or the address of a webhook."),
    click.option("--account", "account_id", help="Account to send from."),
    click.option("--thread", "thread_id", help="Thread of that chat."),
    click.option("--misfire", type=click.Choice(["skip", "once", "all"]), help="What happens to missed times."),
    click.option("--misfire-window", help="How old a missed time may be, such as 24h."),
    click.option("--overlap", type=click.Choice(["skip", "queue"]), help="If the previous run is still active."),
    click.option("--delete-after-run/--keep", "delete_after_run", default=None, help="Remove it after a success."),
)


def job_options(command: F) -> F:
    # Decorators apply from the inside out, and --help shows them in that order.
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def _given(options: dict[str, Any]) -> dict[str, Any]:
    # An option that was not given must not reset what the job has.
    return {name: value for name, value in options.items() if value not in (None, ())}


@click.group(
    epilog="""\b
Examples:
  ocw cron add --at 20m -m "remind me to stretch"
  ocw cron add --name report --cron "0 9 * * 1-5" --tz Europe/Berlin -m "write the report"
  ocw cron list
  ocw cron runs report-1a2b3c
  ocw cron pause report-1a2b3c
"""
)
def cron() -> None:
    """Add, list, change, run, pause and remove scheduled jobs."""


@cron.command("list", epilog="Example: ocw cron list --json")
@json_option
@pass_cli
def list_jobs(cli: CliContext) -> None:
    """List jobs, newest first."""
    answer = cli.backend.jobs()
    if cli.json:
        echo_json(answer)
    else:
        click.echo(jobs_table(answer["jobs"]) if answer["jobs"] else "no jobs")


@cron.command("add", epilog='Example: ocw cron add --every 1h -m "look at the mail" --channel telegram --to 42')
@click.option("--id", "job_id", default="", help="The job's id; default: made from its name.")
@job_options
@json_option
@pass_cli
def add_job(cli: CliContext, /, job_id: str, **options: Any) -> None:
    """Add a job, and show its next five times."""
    _show(cli, cli.backend.add_job(_given(options), job_id))


@cron.command("edit", epilog='Example: ocw cron edit report-1a2b3c --cron "0 8 * * *"')
@click.argument("job_id", metavar="JOB")
@job_options
@json_option
@pass_cli
def edit_job(cli: CliContext, /, job_id: str, **options: Any) -> None:
    """Change the options that you give; a new --at, --every or --cron replaces the schedule."""
    _show(cli, cli.backend.change_job(job_named(cli, job_id), _given(options)))


@cron.command("remove", epilog="Example: ocw cron remove report-1a2b3c")
@click.argument("job_id", metavar="JOB")
@json_option
@pass_cli
def remove_job(cli: CliContext, job_id: str) -> None:
    """Remove a job. An active run of it continues."""
    job_id = job_named(cli, job_id)
    answer = cli.backend.remove_job(job_id)
    if cli.json:
        echo_json(answer)
    else:
        click.echo(f"{job_id} is removed")


@cron.command("run", epilog="Example: ocw cron run report-1a2b3c")
@click.argument("job_id", metavar="JOB")
@json_option
@pass_cli
def run_job(cli: CliContext, job_id: str) -> None:
    """Run a job now, in addition to its schedule."""
    job_id = job_named(cli, job_id)
    answer = cli.backend.run_job(job_id)
    if cli.json:
        echo_json(answer)
    else:
        click.echo(f"{job_id} fired at {moment(answer['time'])}; `ocw cron runs {job_id}` shows how it ended")


@cron.command("runs", epilog="Example: ocw cron runs report-1a2b3c --limit 5")
@click.argument("job_id", metavar="JOB")
@click.option("--limit", type=COUNT, default=20, show_default=True, help="How many, newest first.")
@json_option
@pass_cli
def list_runs(cli: CliContext, job_id: str, limit: int) -> None:
    """Show how earlier firings of a job ended, newest first."""
    job_id = job_named(cli, job_id)
    answer = cli.backend.job_runs(job_id, limit)
    if cli.json:
        echo_json(answer)
    else:
        click.echo(firings_table(answer["runs"]) if answer["runs"] else "it has not fired yet")


@cron.command("pause", epilog="Example: ocw cron pause report-1a2b3c")
@click.argument("job_id", metavar="JOB")
@json_option
@pass_cli
def pause_job(cli: CliContext, job_id: str) -> None:
    """Pause a job until it is resumed."""
    _show(cli, cli.backend.pause_job(job_named(cli, job_id)))


@cron.command("resume", epilog="Example: ocw cron resume report-1a2b3c")
@click.argument("job_id", metavar="JOB")
@json_option
@pass_cli
def resume_job(cli: CliContext, job_id: str) -> None:
    """Continue a paused job, with its next time after now."""
    _show(cli, cli.backend.resume_job(job_named(cli, job_id)))


def _show(cli: CliContext, answer: dict[str, Any]) -> None:
    if cli.json:
        echo_json(answer)
    else:
        click.echo(job_details(answer))
