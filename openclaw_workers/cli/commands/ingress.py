"""`ocw ingress`: the HTTP API, the web page and the channels, in one process."""

from __future__ import annotations

import os
from dataclasses import replace

import click
from pydantic import ValidationError

from openclaw_workers.cli.context import CliContext, pass_cli
from openclaw_workers.cli.output import WholeNumber, json_option
from openclaw_workers.config.gateway import GatewaySettings
from openclaw_workers.config.host import find_host
from openclaw_workers.config.loader import Loaded
from openclaw_workers.engine.fleet_config import in_force, publish_if_none
from openclaw_workers.errors import BadInput
from openclaw_workers.logs import setup_logging
from openclaw_workers.process_title import set_title


@click.command(epilog="Example: ocw ingress --port 8080")
@click.option("--bind", metavar="loopback|lan|ADDRESS", help="Where it listens; default: gateway.bind.")
@click.option("--port", type=WholeNumber(0, 65_535), help="Default: gateway.port; 0 takes a free one.")
@json_option
@pass_cli
def ingress(cli: CliContext, bind: str | None, port: int | None) -> None:
    """Serve the HTTP API, the web page and chat channels until it gets SIGTERM.

    It logs to stderr; with --json, one JSON object per line.
    """
    from ingress.process import run

    cli.wait_for_redis()
    if not cli.local_config:
        publish_if_none(cli.host, cli.redis)
    cli.export_environment()  # for Celery, should it be needed to wake workers
    is_json = cli.json or os.environ.get("OPENCLAW_LOG_FORMAT") == "json"
    setup_logging(json=is_json)
    set_title("ocw ingress")
    # Options win over every later version of the configuration too.
    run(_with_options(cli.loaded, bind, port), cli.redis_url, lambda: _with_options(_newest(cli), bind, port))


def _newest(cli: CliContext) -> Loaded:
    """The configuration in force, with the variables of this host as they are now."""
    return in_force(find_host(cli.config_path, state_dir=cli.state_dir), cli.redis).loaded


def _with_options(loaded: Loaded, bind: str | None, port: int | None) -> Loaded:
    """The configuration with what the command line says instead.

    Raises:
        BadInput: the two do not fit together.
    """
    given = {name: value for name, value in (("bind", bind), ("port", port)) if value is not None}
    try:
        gateway = GatewaySettings.model_validate({**loaded.settings.gateway.model_dump(), **given})
    except ValidationError as error:
        raise BadInput(f"--bind or --port: {error.errors()[0]['msg']}") from error
    return replace(loaded, settings=loaded.settings.model_copy(update={"gateway": gateway}))
