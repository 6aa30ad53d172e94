"""The variables of one host: its environment, `<state>/.env`, and the secrets that were moved out of a file.

A name is looked up in that order. Every process of the host reads all three.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path

from openclaw_workers.config.env_vars import EnvExpansion
from openclaw_workers.errors import ConfigurationError

ENV_FILE = ".env"
SECRETS_FILE = "secrets.json"

_LINE = re.compile(r"(?:export\s+)?([A-Za-z_]\w*)\s*=\s*(.*)")
_QUOTED = re.compile(r"'([^']*)'|\"((?:[^\"\\]|\\.)*)\"")
_COMMENT = re.compile(r"\s+#.*$")


def host_variables(env: Mapping[str, str], state_dir: Path) -> dict[str, str]:
    """All variables of this host.

    Raises:
        ConfigurationError: a file cannot be read.
    """
    given = _filled(env, read_env_file(state_dir / ENV_FILE))
    # A secret is kept as it was written in the file, where it may have referred to variables.
    return _filled(given, EnvExpansion(given, drops_unset=True).apply(read_secrets(state_dir)))


def _filled(given: Mapping[str, str], more: Mapping[str, str]) -> dict[str, str]:
    """`given`, with what it lacks. An empty variable counts as not given: that is how Compose passes an unset one."""
    return {**given, **{name: value for name, value in more.items() if not given.get(name)}}


def read_env_file(path: Path) -> dict[str, str]:
    """Read lines of NAME=value. Values may be quoted; `#` begins a comment; `export` is ignored.

    Raises:
        ConfigurationError: it cannot be read, or a line is something else. The message does not quote the line.
    """
    found: dict[str, str] = {}
    for number, line in enumerate(_read(path).splitlines(), 1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        parts = _LINE.fullmatch(text)
        if parts is None:
            raise ConfigurationError([f"line {number}: expected NAME=value"], source=str(path))
        found[parts[1]] = _value(parts[2])
    return found


def _value(raw: str) -> str:
    quoted = _QUOTED.match(raw)
    if quoted is None:
        return _COMMENT.sub("", raw)
    if quoted[1] is not None:
        return quoted[1]
    return re.sub(r"\\(.)", lambda found: {"n": "\n", "t": "\t"}.get(found[1], found[1]), quoted[2])


def read_secrets(state_dir: Path) -> dict[str, str]:
    """The secrets that were moved out of configuration files, by name.

    Raises:
        ConfigurationError: the file cannot be read.
    """
    path = state_dir / SECRETS_FILE
    text = _read(path)
    try:
        found = json.loads(text) if text else {}
        return {str(name): str(value) for name, value in found.items()}
    except (ValueError, AttributeError) as error:
        # The message of the parser might quote a secret.
        raise ConfigurationError(["expected an object of texts"], source=str(path)) from error


def add_secrets(state_dir: Path, new: Mapping[str, str]) -> None:
    """Keep secrets in the state directory; only its owner can read the file."""
    if not new:
        return
    state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    text = json.dumps({**read_secrets(state_dir), **new}, indent=2, sort_keys=True)
    # mkstemp gives the file to its owner alone from the start.
    handle, temporary = tempfile.mkstemp(dir=state_dir, prefix=f".{SECRETS_FILE}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text + "\n")
            file.flush()
            # Soon the file of the configuration may name only the reference, so the secret must survive a power
            # failure.
            os.fsync(handle)
        os.replace(temporary, state_dir / SECRETS_FILE)
    except OSError:
        Path(temporary).unlink(missing_ok=True)
        raise


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except (OSError, UnicodeDecodeError) as error:
        problem = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise ConfigurationError([f"cannot read the file: {problem}"], source=str(path)) from error
