"""The files that `ocw init` writes: a short openclaw.yaml, `.env` with the keys, and the agent's AGENTS.md."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from openclaw_workers.cli.setup.answers import TELEGRAM_VARIABLE, SetupAnswers
from openclaw_workers.config.host import Host, find_host
from openclaw_workers.config.host_secrets import ENV_FILE, read_env_file
from openclaw_workers.config.loader import Loaded, load_file
from openclaw_workers.config.resolve import default_agent_id, workspace_dir
from openclaw_workers.errors import BadInput

AGENTS = """\
# How I work

This file is read at the beginning of every turn. Change it as you like.

- Be brief and exact. Say what you did, and what you did not do.
- Ask before you delete something, spend money or write to other people.
- Keep what you should remember in MEMORY.md, and what happened today in memory/.
"""


def config_text(answers: SetupAnswers) -> str:
    """The configuration, with what was chosen and nothing else."""
    lines = [
        "# Written by `ocw init`. `ocw config example` shows every setting, `ocw config set` changes one.",
        "# Keys are not here, but in .env of the state directory.",
        "agents:",
        "  defaults:",
        "    model:",
        f"      primary: {answers.model}",
    ]
    if answers.daily_limit is not None:
        lines += ["budgets:", "  day:", f"    cost: {answers.daily_limit}  # dollars of all model calls, per day (UTC)"]
    if answers.with_telegram:
        lines += ["channels:", "  telegram:", f"    botToken: ${{{TELEGRAM_VARIABLE}}}"]
    return "\n".join([*lines, ""])


def check_config(text: str, host: Host, secrets: Mapping[str, str]) -> Loaded:
    """What the configuration will mean on this host.

    Raises:
        ConfigurationError: it is not valid.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "openclaw.yaml"
        path.write_text(text, encoding="utf-8")
        # As a file elsewhere, so that nothing is replaced before the new one is known to be valid.
        return load_file(find_host(path, env={**host.given, **secrets}, state_dir=host.state_dir))


def add_to_env(state_dir: Path, secrets: Mapping[str, str]) -> Path:
    """Add variables to `.env`, which only its owner can read. Other lines stay; a line of the same name is replaced."""
    path = state_dir / ENV_FILE
    kept = [line for line in _lines(path) if not any(_names(line, name) for name in secrets)]
    lines = [*kept, *(f"{name}={_quoted(value)}" for name, value in secrets.items())]
    replace_file(path, "\n".join([*lines, ""]), 0o600)
    return path


def env_names(state_dir: Path) -> set[str]:
    return set(read_env_file(state_dir / ENV_FILE))


def agents_file(loaded: Loaded) -> Path:
    """AGENTS.md of the default agent."""
    return workspace_dir(loaded.settings, default_agent_id(loaded.settings), loaded.state_dir) / "AGENTS.md"


def write_agents_file(path: Path) -> bool:
    """Write it if there is none; says whether it was written."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        # Never replaced: the agent's owner may have written it.
        with path.open("x", encoding="utf-8") as file:
            file.write(AGENTS)
    except FileExistsError:
        return False
    return True


def replace_file(path: Path, text: str, mode: int) -> None:
    """Write a file in one step, so that nobody reads half of it.

    Raises:
        BadInput: it cannot be written.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _replace(path, text, mode)
    except OSError as error:
        raise BadInput(f"{path} cannot be written: {error.strerror}", hint="check the rights of its folder") from error


def _replace(path: Path, text: str, mode: int) -> None:
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(handle)
        # mkstemp lets only the owner read. The configuration itself holds no secrets.
        Path(temporary).chmod(mode)
        os.replace(temporary, path)
    except OSError:
        Path(temporary).unlink(missing_ok=True)
        raise


def _quoted(value: str) -> str:
    if "'" not in value:
        return f"'{value}'"
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8-sig").splitlines() if path.exists() else []


def _names(line: str, name: str) -> bool:
    return line.strip().removeprefix("export ").partition("=")[0].strip() == name
