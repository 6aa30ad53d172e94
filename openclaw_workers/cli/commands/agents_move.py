"""`ocw agents move`: take the files of an agent to another host."""

from __future__ import annotations

import sys
import time
from typing import Any

import click

from openclaw_workers.cli.context import CliContext, pass_cli
from openclaw_workers.cli.output import Exit, echo_json, json_option, leave
from openclaw_workers.cli.render.text import printable
from openclaw_workers.errors import BadInput, StoreUnavailable

LOOK_SECONDS = 0.3


@click.command(
    "move",
    epilog="""\b
Examples:
  ocw agents move main --to host-b                    copy the files, and use them there
  ocw agents move main --to host-b --without-files    start empty, if the old host is gone
  ocw agents move main                                show a move that is under way
  ocw agents move main --cancel                       keep the old files
""",
)
@click.argument("agent_id", metavar="ID")
@click.option("--to", "to_host", metavar="HOST", help="The host that gets the files, as `ocw status` shows it.")
@click.option("--without-files", is_flag=True, help="Start with an empty workspace there.")
@click.option("--cancel", is_flag=True, help="End a move that is under way.")
@json_option
@pass_cli
def move_files(cli: CliContext, agent_id: str, to_host: str | None, without_files: bool, cancel: bool) -> None:
    """Move the files of an agent to another host.

    No turn and no background command of the agent may be running, and no turn begins before the move has ended;
    messages wait. The service workers of both hosts copy the files through Redis. The old files stay where they are,
    but are no longer used. The move continues if this command is interrupted or a worker dies.
    """
    if cancel:
        _show(cli, cli.backend.cancel_move(agent_id))
        return
    if without_files and not to_host:
        raise BadInput("--without-files needs --to", hint="name the host that the agent runs on from now on")
    if to_host:
        began = cli.backend.begin_move(agent_id, to_host, with_files=not without_files)
    else:
        began = cli.backend.move_of(agent_id)
    answer = _follow(cli, began)
    _show(cli, answer)
    leave(Exit.OK if answer["ok"] else Exit.RUN_FAILED)


def _follow(cli: CliContext, began: dict[str, Any]) -> dict[str, Any]:
    """Wait until the move has ended, and say now and then how far it is."""
    shown = ""
    while True:
        try:
            answer = cli.backend.move_state(began["id"])
        # The workers go on with the move, so this only waits.
        except StoreUnavailable:
            time.sleep(LOOK_SECONDS)
            continue
        if answer["state"] != "copying":
            return answer
        line = _progress(answer)
        if line != shown:
            shown = line
            click.echo(line, err=True)
        try:
            time.sleep(LOOK_SECONDS)
        except KeyboardInterrupt:
            sys.stderr.write(f"the move continues; `ocw agents move {began['agentId']}` shows it, `--cancel` ends it\n")
            return answer


def _progress(answer: dict[str, Any]) -> str:
    if answer["waits"]:
        return printable(f"waiting: {answer['waits']}")
    if not answer["files"]:
        return f"moving to {answer['toHost']}"
    return f"{answer['filesDone']:,} of {answer['files']:,} files, {answer['bytesDone']:,} bytes"


def _show(cli: CliContext, answer: dict[str, Any]) -> None:
    if cli.json:
        echo_json(answer)
        return
    agent, host = answer["agentId"], answer["toHost"]
    match answer["state"]:
        case "done":
            click.echo(f"agent {agent} runs on {host} now; its old files stay where they were")
            if answer["keptAt"]:
                click.echo(printable(f"the files that were there before are in {answer['keptAt']} on {host}"))
        case "cancelled":
            click.echo(f"the move of agent {agent} is cancelled; it keeps its old files")
        case "failed":
            click.echo(
                printable(f"the move of agent {agent} failed: {answer['error']}; it keeps its old files"), err=True
            )
        case _:
            click.echo(_progress(answer))
