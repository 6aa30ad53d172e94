"""Which backend a command works with."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Protocol

import click

from openclaw_workers.remote.address import TOKEN_VARIABLE, URL_VARIABLE, ApiAddress

if TYPE_CHECKING:
    from openclaw_workers.cli.backend.local_ingress import GivenOptions
    from openclaw_workers.cli.backend.opened import Opened
    from openclaw_workers.cli.backend.protocol import Backend

    class Command(Opened, GivenOptions, Protocol):
        """What a command has opened, and the options it was given."""


SHORT = ("agent", "status")
"""Commands that people type most and that take little time: loading the program takes most of it."""


def remote_url() -> str | None:
    """The installation that OPENCLAW_URL names; without it, commands work on the one of this machine."""
    return os.environ.get(URL_VARIABLE) or None


def open_backend(cli: Command) -> Backend:
    """The installation that OPENCLAW_URL names, or else the one of this machine.

    Raises:
        BadInput: OPENCLAW_URL is not an address.
    """
    root = click.get_current_context().find_root()
    backend = (root.invoked_subcommand in SHORT and _through_ingress(cli)) or open_another(cli)
    # With the root, because the context of a subcommand ends before its answer is printed.
    root.call_on_close(backend.close)
    return backend


def open_another(cli: Opened) -> Backend:
    """A backend that another thread may use; it closes it."""
    url = remote_url()
    if url is None:
        from openclaw_workers.cli.backend.local import LocalBackend

        return LocalBackend(cli)
    from openclaw_workers.cli.backend.remote import RemoteBackend

    return RemoteBackend(ApiAddress(url, os.environ.get(TOKEN_VARIABLE, "")))


def _through_ingress(cli: Command) -> Backend | None:
    """The installation of this machine through its ingress; None if the ingress cannot be reached."""
    if remote_url() is not None:
        return None
    from openclaw_workers.cli.backend.local_ingress import local_ingress

    address = local_ingress(cli)
    if address is None:
        return None
    from openclaw_workers.cli.backend.remote import RemoteBackend

    backend = RemoteBackend(address)
    # The record of `ocw up` may be stale, or the ingress may just be restarting.
    return backend if backend.connects() else None
