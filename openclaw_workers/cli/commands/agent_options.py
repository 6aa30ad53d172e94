"""`ocw agent`: its options. What it does is in `agent`, which takes longer to load than an option takes to complete."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from openclaw_workers.cli.context import CliContext, pass_cli
from openclaw_workers.cli.output import COUNT, Seconds, WholeNumber, json_option, not_empty
from openclaw_workers.domain.limits import WEEK_SECONDS


@click.command(
    epilog="""\b
Examples:
  ocw agent "what is in my workspace?"
  echo "what is in my workspace?" | ocw agent
  git diff | ocw agent -m - --session review
  ocw agent -m "what is on this picture?" --file photo.jpg
  ocw agent -m "hello" --agent work --model offline/demo
  ocw agent -m "a long job" --no-wait --json
  ocw agent -m "ask three sub-agents to count to 3, 5 and 8 slowly" --wait tree
  ocw agent -m /status
Exit codes: 0 answered, 1 the run failed or was stopped, 6 the session rejected
the message, 124 --timeout is over, 130 Ctrl-C. After the last two, the run and its sub-agents continue.
"""
)
@click.argument("words", metavar="[MESSAGE]", nargs=-1)
@click.option("-m", "--message", help="The message, or a /command; - reads it from stdin, as does a pipe without -m.")
@click.option("--agent", "agent_id", metavar="ID", default="", help="The agent; default: the default agent.")
@click.option(
    "--session", metavar="KEY", default="", callback=not_empty, help="The session, such as notes or agent:main:main."
)
@click.option("--thread", metavar="ID", default="", help="Send it in a thread, to the sub-agent bound to it.")
@click.option("--model", metavar="PROVIDER/MODEL", help="Model for this turn only.")
@click.option("--thinking", metavar="LEVEL", help="off, minimal, low, medium, high or xhigh, for this turn only.")
@click.option("--context-tokens", type=COUNT, metavar="N", help="Largest context for this turn.")
@click.option("--run-timeout", type=WholeNumber(1, WEEK_SECONDS), metavar="SECONDS", help="Longest time for this turn.")
@click.option("--system", metavar="TEXT", help="Added to the system prompt, for this turn only.")
@click.option(
    "--file",
    "files",
    type=click.Path(path_type=Path),
    multiple=True,
    help="A file or picture to attach; can be repeated.",
)
@click.option(
    "--wait",
    "wait_for",
    type=click.Choice(["turn", "tree"]),
    help="Wait for this turn, or also for its sub-agents and the replies to them; default: tree, with --json turn.",
)
@click.option("--no-wait", is_flag=True, help="Return as soon as the message is stored.")
@click.option("--timeout", type=Seconds(), metavar="SECONDS", help="Stop waiting after this time; the run continues.")
@click.option("--message-id", metavar="ID", help="Sending again under the same id does not duplicate the message.")
@json_option
@pass_cli
def agent(cli: CliContext, /, **options: Any) -> None:
    """Send one message and print the answer as it arrives.

    If the agent starts sub-agents, its replies to their results are printed as well.
    """
    from openclaw_workers.cli.commands.agent import send_one

    send_one(cli, **options)
