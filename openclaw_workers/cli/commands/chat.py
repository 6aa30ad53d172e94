"""`ocw chat`: a conversation in the terminal, or line by line from a pipe."""

from __future__ import annotations

import os
import sys

import click

from openclaw_workers.cli.context import CliContext, pass_cli
from openclaw_workers.cli.keyboard import check_stdin
from openclaw_workers.cli.output import json_option, leave, not_empty


@click.command(
    epilog="""\b
Examples:
  ocw chat
  ocw chat --agent work --session notes
  printf 'hello\\nwhat tools do you have?\\n' | ocw chat
It shows everything that happens in the session, including turns that were started elsewhere. Ctrl-C stops the
turn, Ctrl-D or /exit leaves. A message typed while a turn runs is sent at once; the session's queue mode
(/queue) decides what happens to it, and /steer puts it into the running turn. Tab completes commands, sessions and
models.
"""
)
@click.option("--agent", "agent_id", metavar="ID", default="", help="The agent; default: the default agent.")
@click.option(
    "--session", metavar="KEY", default="", callback=not_empty, help="The session; default: the agent's main session."
)
@click.option("--thread", metavar="ID", default="", help="Talk in a thread, to the sub-agent bound to it.")
@click.option("--model", metavar="PROVIDER/MODEL", help="Model for the turns of this chat.")
@json_option
@pass_cli
def chat(cli: CliContext, agent_id: str, session: str, thread: str, model: str | None) -> None:
    """Talk to an agent in the terminal."""
    check_stdin()
    key = cli.backend.session_key(session, agent_id, thread)
    if cli.json or not _is_terminal():
        from openclaw_workers.cli.chat.lines import LineChat

        leave(LineChat(cli, key, model=model, thread=thread).run())
    from openclaw_workers.cli.chat.attached import AttachedChat

    # Before the screen is set up, so that an error is printed like any other.
    cli.backend.check()
    leave(AttachedChat(cli, key, model=model, thread=thread).run())


def _is_terminal() -> bool:
    """Whether a person can type in one place and read in another."""
    return sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM") not in (None, "", "dumb")
