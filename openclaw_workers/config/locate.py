"""Where this host's state directory and configuration file are. Commands ask this first, so it loads little."""

from __future__ import annotations

import stat
from collections.abc import Mapping
from pathlib import Path

from openclaw_workers.errors import BadInput, ConfigurationError

NAMES = ("openclaw.yaml", "openclaw.yml", "openclaw.json5", "openclaw.json")


def find_file(explicit: str | Path | None, env: Mapping[str, str], *, cwd: Path, state_dir: Path) -> Path | None:
    """Find the file to read: `explicit`, else OPENCLAW_CONFIG, else one in `cwd`, else one in `state_dir`.

    Raises:
        ConfigurationError: a named file does not exist, a candidate is not a file, a directory may not be searched,
            or a directory holds two candidates.
    """
    for named, by in ((explicit, "--config"), (env.get("OPENCLAW_CONFIG"), "OPENCLAW_CONFIG")):
        if named:
            return _named_file(named, by, cwd)
    # The working directory first, so that a project can have its own configuration.
    for directory in (cwd, state_dir):
        found = [path for path in (directory / name for name in NAMES) if _is_candidate(path)]
        if len(found) > 1:
            names = " and ".join(path.name for path in found)
            raise ConfigurationError(
                [f"{directory} holds {names}, but only one may be there"],
                hint="keep one of them, or choose one with --config",
            )
        if found:
            return found[0]
    return None


def _named_file(named: str | Path, by: str, cwd: Path) -> Path:
    try:
        path = cwd / Path(named).expanduser()
        is_file = _is_file(path)
    except (OSError, RuntimeError) as error:
        what = error.strerror if isinstance(error, OSError) else error
        raise ConfigurationError([f"{by} names {named}: {what}"], hint=f"correct {by}") from error
    if not is_file:
        raise ConfigurationError([f"{by} names {path}, which is not a file"], hint=f"correct {by}")
    return path


def _is_file(path: Path) -> bool:
    """As `Path.is_file`, which does not say since Python 3.14 that a directory may not be searched.

    Raises:
        OSError: it cannot be looked at.
    """
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False


def _is_candidate(path: Path) -> bool:
    """Whether something with this name exists. A dangling link counts, so that it is reported and not ignored."""
    try:
        path.lstat()
        is_file = _is_file(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise ConfigurationError(
            [f"cannot look for {path}: {error.strerror}"],
            hint="name a file with --config, or use a working directory and a --state-dir that you may search",
        ) from error
    if not is_file:
        what = "a directory" if path.is_dir() else "a dangling link" if path.is_symlink() else "not a file"
        raise ConfigurationError(
            [f"{path} is {what}"], hint="put the configuration there, remove it, or name a file with --config"
        )
    return True


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
