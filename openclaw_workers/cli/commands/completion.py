"""`ocw completion`: the script with which a shell completes commands and options."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from openclaw_workers.cli.context import CliContext, pass_cli
from openclaw_workers.cli.output import echo_json, json_option


@click.command(
    epilog="""\b
Examples:
  eval "$(ocw completion bash)"                                     in ~/.bashrc
  eval "$(ocw completion zsh)"                                      in ~/.zshrc
  ocw completion fish > ~/.config/fish/completions/ocw.fish
"""
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@json_option
@pass_cli
def completion(cli: CliContext, shell: str) -> None:
    """Print the script that completes `ocw` in a shell."""
    kind = get_completion_class(shell)
    assert kind is not None, "click knows all three"
    script = kind(click.get_current_context().find_root().command, {}, "ocw", "_OCW_COMPLETE").source()
    if cli.json:
        echo_json({"ok": True, "shell": shell, "script": script})
    else:
        click.echo(script)
