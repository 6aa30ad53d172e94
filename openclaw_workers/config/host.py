"""What belongs to one host alone: its variables, its state directory and its configuration file.

The file says where the fleet's configuration is (address of Redis and namespace). Everything else in it counts only
until a configuration is published.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from openclaw_workers.config.env_vars import EnvExpansion
from openclaw_workers.config.files import read_file
from openclaw_workers.config.host_secrets import host_variables
from openclaw_workers.config.locate import find_file, find_state_dir, working_dir
from openclaw_workers.config.normalise import value_at


@dataclass(frozen=True)
class Host:
    given: Mapping[str, str]
    """The environment of this process."""
    state_dir: Path
    """Where this installation keeps its files."""
    source: Path | None
    """The configuration file."""

    @cached_property
    def env(self) -> Mapping[str, str]:
        """The variables: the environment, `<state>/.env` and `<state>/secrets.json`.

        Raises:
            ConfigurationError: a file cannot be read.
        """
        return host_variables(self.given, self.state_dir)

    def as_it_is_now(self) -> Host:
        """The same host, with its variables read again: another process may have moved secrets meanwhile."""
        return Host(self.given, self.state_dir, self.source)

    @cached_property
    def tree(self) -> dict[str, Any]:
        """The content of the file; {} if there is none.

        Raises:
            ConfigurationError: it cannot be read.
        """
        return read_file(self.source) if self.source else {}

    @cached_property
    def redis_url(self) -> str | None:
        """The server that the environment or the file names."""
        return self._local("REDIS_URL", "redis", "url")

    @cached_property
    def namespace(self) -> str | None:
        """The namespace that the environment or the file names."""
        return self._local("OPENCLAW_NAMESPACE", "engine", "namespace")

    def _local(self, variable: str, section: str, key: str) -> str | None:
        written = value_at(self.tree, section, key)
        expanded = EnvExpansion(self.env, drops_unset=True).apply({key: written}).get(key)
        return self.env.get(variable) or (expanded if isinstance(expanded, str) else None)


def find_host(
    path: str | Path | None = None,
    *,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    state_dir: Path | None = None,
) -> Host:
    """Find the state directory, its variables and the configuration file.

    Raises:
        ConfigurationError: a named file does not exist, or a file with variables cannot be read.
        BadInput: there is no working directory, or no home for the state directory.
    """
    env = os.environ if env is None else env
    cwd = (cwd or working_dir()).absolute()
    state = find_state_dir(state_dir, env, cwd)
    known = host_variables(env, state)
    # With all variables: OPENCLAW_CONFIG may be set in `.env`.
    return Host(env, state, find_file(path, known, cwd=cwd, state_dir=state))
