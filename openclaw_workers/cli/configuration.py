"""Which configuration a command uses, and the Redis that holds it."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import click

from openclaw_workers.errors import BadInput, NotFound, StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from openclaw_workers.config.host import Host
    from openclaw_workers.config.loader import Loaded
    from openclaw_workers.engine.fleet_config import InForce
    from openclaw_workers.store.client import Client


@dataclass
class CliConfiguration:
    """The options of every command, and what follows from them. Read when a command needs it."""

    config_path: str | None = None
    state_dir: Path | None = None
    json: bool = False
    local_config: bool = field(default_factory=lambda: bool(os.environ.get("OPENCLAW_LOCAL_CONFIG")))
    """Use the file of this host, whatever is published."""

    @property
    def remote(self) -> str | None:
        """The address of the installation that commands work with; None for the one of this machine."""
        from openclaw_workers.cli.backend.choose import remote_url

        return remote_url()

    def require_local(self, command: str, reason: str) -> None:
        """Refuse what works only on the machine of the installation.

        Raises:
            BadInput: OPENCLAW_URL is set.
        """
        if self.remote is not None:
            raise BadInput(
                f"{command} works on the machine of the installation, not through {self.remote}: it {reason}",
                hint="run it there, or unset OPENCLAW_URL",
            )

    @cached_property
    def host(self) -> Host:
        """What belongs to this host alone."""
        from openclaw_workers.config.host import find_host

        return find_host(self.config_path, state_dir=self.state_dir)

    @cached_property
    def local(self) -> Loaded:
        """The configuration of this host's file, without what needs variables that are not set here."""
        from openclaw_workers.config.loader import load_file

        return load_file(self.host, allows_unset=True)

    @cached_property
    def in_force(self) -> InForce:
        """The fleet's configuration: the published one, or that of the file where none is published.

        Raises:
            ConfigurationError: it is not valid.
            StoreUnavailable: Redis does not answer.
        """
        from openclaw_workers.config.loader import load_file
        from openclaw_workers.engine.fleet_config import InForce, in_force

        # Without a Redis nothing can be published, and commands that need none still work.
        if self.local_config or self._named_redis is None:
            return InForce(load_file(self.host, allows_unset=True), None)
        found = in_force(self.host, self.redis)
        if found.differs:
            self._report_difference(found)
        return found

    @property
    def loaded(self) -> Loaded:
        return self.in_force.loaded

    @cached_property
    def _named_redis(self) -> str | None:
        """The Redis of this host, where a configuration may be; None if none is named and nothing runs."""
        from openclaw_workers.engine.fleet_config import redis_url_of

        try:
            return redis_url_of(self.host)
        except NotFound:
            return None

    def report_unset(self, unset: Mapping[str, Sequence[str]]) -> None:
        """Say which settings need variables that this host does not have."""
        for path, names in unset.items():
            click.echo(f"note: {path} needs {', '.join(names)}, not set on this host", err=True)

    def _report_difference(self, found: InForce) -> None:
        assert found.version is not None
        advice = "`ocw config apply` publishes it, --local-config uses it for one command"
        number, source = found.version.number, self.host.source
        click.echo(f"note: {source} differs from configuration {number}, which is in use; {advice}", err=True)

    @cached_property
    def redis_url(self) -> str:
        command = click.get_current_context(silent=True)
        self.require_local(f"`{command.command_path}`" if command else "this", "uses its Redis")
        if self._named_redis is not None:
            return self._named_redis
        from openclaw_workers.cli.invocation import typed
        from openclaw_workers.state_dir import no_redis

        # For a script this is the same failure as a Redis that does not answer.
        hint = f"start everything with `{typed('up', self.host)}` in another terminal"
        raise StoreUnavailable(no_redis(self.host), hint=hint)

    @cached_property
    def redis(self) -> Client:
        from openclaw_workers.store.client import connect

        return connect(self.redis_url, max_connections=16)

    def wait_for_redis(self) -> None:
        """For processes that serve: they start also while Redis is away. Their configuration is there."""
        from openclaw_workers.engine.fleet_config import wait_for_redis

        if not self.local_config:
            wait_for_redis(self.host, self.redis, lambda why: click.echo(f"waiting for Redis: {why}", err=True))
