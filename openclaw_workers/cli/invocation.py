"""Who types a command, and a command line that reaches this installation from any terminal."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from getpass import getuser
from pathlib import Path
from typing import Protocol


class Place(Protocol):
    """A state directory and a configuration file."""

    @property
    def state_dir(self) -> Path: ...

    @property
    def source(self) -> Path | None: ...


def typed(words: str, host: Place) -> str:
    """`words` with the program and options in front that another terminal needs.

    It shares neither our working directory nor our environment.
    """
    from openclaw_workers.config.locate import NAMES, default_state_dir

    options: list[str] = []
    if host.state_dir != default_state_dir(os.environ):
        options += ["--state-dir", str(host.state_dir)]
    source = host.source
    if source is not None and (source.parent != host.state_dir or source.name not in NAMES):
        options += ["--config", str(source)]
    return f"{shlex.join([_program(), *options])} {words}"


def _program() -> str:
    script = Path(sys.prefix) / "bin" / "ocw"
    return str(script) if script.exists() and not _is_on_every_path(script) else "ocw"


def _is_on_every_path(script: Path) -> bool:
    found = shutil.which("ocw")
    if found is None or Path(found).resolve() != script.resolve():
        return False
    # An activated virtual environment is on the path of one terminal only.
    activated = os.environ.get("VIRTUAL_ENV")
    return activated is None or Path(found).parent != Path(activated) / "bin"


def person_at_terminal() -> str:
    try:
        return getuser()
    except (KeyError, OSError):  # the user of a container may have no name
        return str(os.getuid())
