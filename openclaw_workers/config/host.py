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
from openclaw_workers.config.files import find_file, read_file
from openclaw_workers.config.host_secrets import host_variables
from openclaw_workers.config.normalise import value_at
from openclaw_workers.errors import BadInput


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
    return Host(env, state, find_file(path, known, cwd=cwd, state_dir=state))


def working_dir() -> Path:
    """The directory that relative paths of commands start from.

    Raises:
        BadInput: it was deleted, or this user may not read it.
    """
    try:
        return Path.cwd()
    except OSError as error:
        raise BadInput(
            f"the working directory cannot be used: {error.strerror}", hint="`cd` to one that exists"
        ) from error


def find_state_dir(explicit: Path | None, env: Mapping[str, str], cwd: Path) -> Path:
    """Find the state directory: `explicit`, else OPENCLAW_STATE_DIR, else `~/.openclaw-workers`.

    Raises:
        BadInput: the path starts with the home directory of a user who has none.
    """
    try:
        chosen = explicit or env.get("OPENCLAW_STATE_DIR") or default_state_dir(env)
        return cwd / Path(chosen).expanduser()
    except RuntimeError as error:
        raise BadInput(
            f"there is no home directory for the state directory: {error}",
            hint="name another one with --state-dir or OPENCLAW_STATE_DIR",
        ) from error


def default_state_dir(env: Mapping[str, str]) -> Path:
    return Path(env.get("HOME") or Path.home()) / ".openclaw-workers"
