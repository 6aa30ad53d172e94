"""Which backend a command works with."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from openclaw_workers.remote.address import TOKEN_VARIABLE, URL_VARIABLE, ApiAddress

if TYPE_CHECKING:
    from openclaw_workers.cli.backend.opened import Opened
    from openclaw_workers.cli.backend.protocol import Backend


def remote_url() -> str | None:
    """The installation that OPENCLAW_URL names; without it, commands work on the one of this machine."""
    return os.environ.get(URL_VARIABLE) or None


def open_backend(cli: Opened) -> Backend:
    """The installation that OPENCLAW_URL names, or else the one of this machine.

    Raises:
        BadInput: OPENCLAW_URL is not an address.
    """
    backend = open_another(cli)
    click.get_current_context().find_root().call_on_close(backend.close)
    return backend


def open_another(cli: Opened) -> Backend:
    """A backend that another thread may use; it closes it."""
    url = remote_url()
    if url is None:
        from openclaw_workers.cli.backend.local import LocalBackend

        return LocalBackend(cli)
    from openclaw_workers.cli.backend.remote import RemoteBackend

    return RemoteBackend(ApiAddress(url, os.environ.get(TOKEN_VARIABLE, "")))
