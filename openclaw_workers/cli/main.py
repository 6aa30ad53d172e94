"""The `ocw` command: its global options, lazy loading of commands, and errors as exit codes."""

from __future__ import annotations

import errno
import os
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from openclaw_workers import __version__
from openclaw_workers.cli.context import CliContext
from openclaw_workers.cli.output import Exit, answer_in_json, exit_code, report
from openclaw_workers.errors import OpenClawError

COMMANDS: dict[str, dict[str, tuple[str, str]]] = {
    "Talk": {
        "agent": ("agent_options:agent", "Send one message and print the answer as it arrives."),
        "chat": ("chat:chat", "Talk to an agent in the terminal."),
    },
    "Inspect and manage": {
        "status": ("status:status", "Show workers, lanes, queues and leases."),
        "doctor": ("doctor:doctor", "Check the installation, and name the command that fixes each problem."),
        "sessions": ("sessions:sessions", "List, read, search, export, label, reset, delete and clean up sessions."),
        "runs": ("runs:runs", "List, show, watch and stop runs; show them as trees."),
        "cron": ("cron:cron", "Add, list, change, run, pause and remove scheduled jobs."),
        "heartbeat": ("heartbeat:heartbeat", "Show, run, pause and resume heartbeats."),
        "usage": ("usage:usage", "Show tokens and cost of model calls, by agent, session, model, day or tree."),
        "models": ("models:models", "List models; show which keys are in cooldown after failures, and end a cooldown."),
        "memory": ("memory:memory", "Search, read and check the agents' memory."),
        "skills": ("skills:skills", "List, show, check, create and add skills."),
        "pairing": ("pairing:pairing", "Let people and groups of chat channels in, and see who was refused."),
        "sandbox": (
            "sandbox:sandbox",
            "List sandboxes, explain how a session is sandboxed, and delete unused ones.",
        ),
        "plugins": ("plugins:plugins", "Show the plugins that workers have loaded, and check them."),
        "mcp": ("mcp:mcp", "Show the MCP servers that workers are connected to."),
        "agents": ("agents:agents", "List agents, show their system prompts, move their files to another host."),
        "approvals": ("approvals:approvals", "List what waits for a person, and allow, deny or answer it."),
        "tools": ("tools:tools", "Show which tools a session has, and which layer of the policy removed the others."),
        "subagents": ("subagents:subagents", "List sub-agents, send them messages, stop them."),
        "channels": ("channels:channels", "Show accounts of chat channels, and whether they work."),
        "logs": ("logs:logs", "Show what the processes of the local `ocw up` have logged."),
        "outbox": ("outbox:outbox", "Show messages to chats; send unknown and failed ones again, or drop them."),
    },
    "Run": {
        "up": ("up:up", "Start Redis, a worker per lane, the ingress and Flower, and keep them running."),
        "down": ("up:down", "Stop the `ocw up` of this state directory and wait until it has ended."),
        "worker": ("worker:worker", "Run one worker until it gets SIGTERM."),
        "drain": ("drain:drain", "Stop giving turns to a host or worker; its processes keep running."),
        "undrain": ("drain:undrain", "Let a drained host or worker take turns again."),
        "ingress": ("ingress:ingress", "Serve the HTTP API, the web page and chat channels until it gets SIGTERM."),
    },
    "Set up": {
        "init": ("init:init", "Set up an installation, start it and get the first answer."),
        "tokens": ("tokens:tokens", "Create, list and revoke access tokens for the HTTP API."),
        "config": (
            "config:config",
            "Check, show, change and publish the configuration, and go back to an earlier one.",
        ),
        "completion": ("completion:completion", "Print the script that completes `ocw` in a shell."),
    },
}
"""Module and help of each command, so that `--help` imports none of them."""

_FLAT = {name: place for section in COMMANDS.values() for name, place in section.items()}

LOCAL_ONLY = {
    "up": "starts processes on this machine",
    "down": "ends processes of this machine",
    "worker": "is a process of this machine",
    "ingress": "is a process of this machine",
    "logs": "reads the files that processes of this machine write",
    "init": "writes files of this machine and starts processes on it",
    "config set": "changes a file of this machine",
}
"""Commands that do not work through OPENCLAW_URL, each with the reason."""

DEBUG_VARIABLE = "OPENCLAW_DEBUG"

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EIO)


class LazyGroup(click.Group):
    """Imports a command when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_FLAT)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _FLAT:
            return None
        module, _, name = _FLAT[cmd_name][0].partition(":")
        command: click.Command = getattr(import_module(f"openclaw_workers.cli.commands.{module}"), name)
        _accept_global_options(command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.NoSuchCommand as error:
            # click would suggest only commands that it has already loaded.
            raise click.NoSuchCommand(error.command_name, possibilities=list(_FLAT), ctx=ctx) from error

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        with _ignore_closed_pipe():  # click prints --help and --version here
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        with _ignore_closed_pipe():
            return super().invoke(ctx)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        names = [CompletionItem(name, help=text) for name, (_, text) in _FLAT.items() if name.startswith(incomplete)]
        return [*names, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for section, commands in COMMANDS.items():
            with formatter.section(section):
                formatter.write_dl([(name, text) for name, (_, text) in commands.items()])


_STATE_DIR = click.Path(path_type=Path, file_okay=False)


def _accept_global_options(command: click.Command) -> None:
    """Accept `--config` and `--state-dir` after a command as well. The last one wins."""
    if "config_path" not in {param.name for param in command.params}:
        for name, flag, kind in (("config_path", "--config", None), ("state_dir", "--state-dir", _STATE_DIR)):
            option = click.Option([flag, name], type=kind, hidden=True, expose_value=False, callback=_set_global)
            command.params.append(option)
        local = click.Option(["--local-config"], is_flag=True, hidden=True, expose_value=False, callback=_set_flag)
        command.params.append(local)
        if isinstance(command, click.Group):  # its commands declare `--json` themselves
            option = click.Option(["--json"], is_flag=True, hidden=True, expose_value=False, callback=answer_in_json)
            command.params.append(option)
    for each in command.commands.values() if isinstance(command, click.Group) else ():
        _accept_global_options(each)


def _set_global(ctx: click.Context, param: click.Parameter, value: object) -> None:
    if value is not None:
        setattr(ctx.obj, str(param.name), value)


def _set_flag(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value:
        setattr(ctx.obj, str(param.name), True)


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="""\b
Examples:
  ocw up                                    everything on this machine
  ocw agent "hello"                         one message, one answer
  ocw chat                                  a conversation
  ocw agent -m "run the tests" --no-wait    leave it to the workers
  ocw runs watch                            watch the active runs
  ocw status --json | jq '.workers[]'
You can also put these options after the command.
OPENCLAW_URL=http://host:18789 and OPENCLAW_TOKEN let commands work on another machine's installation.
Exit codes and JSON fields: docs/cli.md. NO_COLOR=1 switches colours off.
""",
)
@click.option(
    "--config", "config_path", metavar="FILE", help="Configuration file; else OPENCLAW_CONFIG, else ./openclaw.yaml."
)
@click.option(
    "--state-dir",
    type=_STATE_DIR,
    help="State directory; else OPENCLAW_STATE_DIR, else ~/.openclaw-workers.",
)
@click.option("--local-config", is_flag=True, help="Use the file of this host, whatever configuration is published.")
@click.option("--json", is_flag=True, help="Answer in JSON.")
@click.version_option(__version__, "-V", "--version", prog_name="ocw", message="%(prog)s %(version)s")
@click.pass_context
def cli(ctx: click.Context, config_path: str | None, state_dir: Path | None, local_config: bool, json: bool) -> None:
    """Agents as durable jobs on a fleet of workers."""
    obj: CliContext = ctx.obj
    obj.config_path, obj.state_dir, obj.json = config_path, state_dir, json
    obj.local_config = local_config or obj.local_config
    if ctx.invoked_subcommand in LOCAL_ONLY:
        obj.require_local(f"`ocw {ctx.invoked_subcommand}`", LOCAL_ONLY[ctx.invoked_subcommand])


def run(args: Sequence[str]) -> int:
    """Run one command line and return its exit code."""
    obj = CliContext()
    try:
        # Not standalone: click would print errors itself, without hints and never as JSON.
        result = cli.main(args=list(args), prog_name="ocw", obj=obj, standalone_mode=False)
        # Here, and not at exit: a full disk or closed pipe must still become an exit code.
        sys.stdout.flush()
    except click.Abort:
        return Exit.INTERRUPTED
    except BrokenPipeError:
        _stop_writing()
        return Exit.OK
    except Exception as error:  # noqa: BLE001 - nobody above handles it
        # The option itself may come after what could not be parsed.
        return _explain(error, as_json=obj.json or "--json" in args)
    return result if isinstance(result, int) else Exit.OK


@contextmanager
def _ignore_closed_pipe() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:  # click would end with 1, as if something had failed
        _stop_writing()
        raise click.exceptions.Exit(Exit.OK) from None


def _stop_writing() -> None:
    """Discard further output, so that Python does not complain at exit about a closed pipe or a full disk."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _explain(error: Exception, *, as_json: bool) -> Exit:
    """Print the error and what to do next; a traceback only in debug mode."""
    if os.environ.get(DEBUG_VARIABLE) and not isinstance(error, click.ClickException):
        traceback.print_exc()
    match error:
        case click.exceptions.NoArgsIsHelpError():
            click.echo(error.format_message(), err=True)
            return Exit.USAGE
        case click.ClickException():
            path = error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx else "ocw"
            report("UsageError", error.format_message(), f"`{path} --help` shows how it is used", as_json=as_json)
            return Exit.USAGE
        case OSError() if error.errno in _FULL:
            _stop_writing()  # stdout cannot take JSON either
            report("OutputFailed", f"cannot write: {error.strerror}", None, as_json=False)
            return Exit.OUTPUT
        case OpenClawError():
            report(type(error).__name__, error.message, error.hint, as_json=as_json)
            return exit_code(error)
    hint = f"this is a bug in ocw; {DEBUG_VARIABLE}=1 shows a traceback"
    report("InternalError", f"unexpected {type(error).__name__}: {error}", hint, as_json=as_json)
    return Exit.INTERNAL


def main() -> None:
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # the caller closed it (`>&-`)
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115 (until the end of the process)
    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
