"""The `ocw` command: options that every command shares, errors that say the next step, exit codes with a reason."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from openclaw_workers import __version__
from openclaw_workers.cli.context import CliContext
from openclaw_workers.cli.worker import worker

@click.group()
@click.option("--config")
@click.option("--state-dir", type=click.Path(path_type=Path))
@click.pass_context
def cli(ctx, config, state_dir):
    ctx.obj = CliContext(config, state_dir)
cli.add_command(worker)
def main():
    cli()
