"""How one `ocw` command finds another: the lock, addresses and secrets that `ocw up` keeps in the state directory."""

from __future__ import annotations

import fcntl
import os
import shlex
import socket
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from openclaw_workers.errors import BadInput, ConflictError, NotFound
from openclaw_workers.place_id import make_place

if TYPE_CHECKING:
    from openclaw_workers.config.host import Host

RUNTIME_FILE = "runtime.json"
LOCK_FILE = "up.lock"
ID_FILE = "state-id"
TOKEN_FILE = "admin.token"  # noqa: S105 - the name of a file


def state_dir_id(state_dir: Path) -> str:
    """The name of a state directory, made by whoever asks first.

    It lies in the directory: containers that share one have different host names, and each gets a new name when it is
    made again.
    """
    return make_place(state_dir, ID_FILE)


def state_dir_shown(state_dir: Path) -> str:
    """The same for people."""
    return f"{socket.gethostname()}:{state_dir}"


class Runtime(BaseModel):
    """The processes and addresses of a running `ocw up`."""

    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)

    pid: int
    redis_url: str
    flower_url: str | None = None
    ingress_url: str | None = None
    source: Path | None = None
    """The configuration file that it was started with."""
    pids: dict[str, int] = Field(default_factory=dict)
    started_at: int
    """Milliseconds since the epoch."""

    stop_seconds: float = 60.0
    """The longest an orderly stop takes."""


def read_runtime(state_dir: Path) -> Runtime | None:
    """Read the file that `ocw up` wrote; None if it is missing or unreadable."""
    try:
        return Runtime.model_validate_json((state_dir / RUNTIME_FILE).read_bytes())
    except (OSError, ValidationError):
        return None


def write_runtime(state_dir: Path, runtime: Runtime) -> None:
    write_private(state_dir / RUNTIME_FILE, runtime.model_dump_json(indent=2) + "\n")


def refuse_foreign_runtime(state_dir: Path) -> None:
    """See that the runtime file, which `ocw up` replaces and removes, is none of another program.

    Raises:
        BadInput: it is JSON, but not ours. What is no JSON at all is a damaged one of ours.
    """
    path = state_dir / RUNTIME_FILE
    try:
        Runtime.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return
    except ValidationError as error:
        if error.errors()[0]["type"] != "json_invalid":
            raise not_ours(path) from error


def not_ours(path: Path) -> BadInput:
    hint = "move it away, or choose another directory with --state-dir"
    return BadInput(f"{path} was not written by `ocw up`", hint=hint)


def write_private(path: Path, text: str) -> None:
    """Replace a file atomically; only its owner can read it."""
    fd, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(fd, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(temporary, path)
    except OSError:
        Path(temporary).unlink(missing_ok=True)
        raise


def prepare_state_dir(state_dir: Path) -> None:
    """Create the state directory, closed to other users, and check that it is writable.

    Raises:
        BadInput: it cannot be created or written, or its name cannot appear in a Redis configuration file.
    """
    if "\n" in str(state_dir) or not _is_text(state_dir):
        raise BadInput(
            f"the state directory {str(state_dir)!r} cannot be used: its name has a line break or is not UTF-8",
            hint="choose another with --state-dir or OPENCLAW_STATE_DIR",
        )
    try:
        state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        (state_dir / "logs").mkdir(mode=0o700, exist_ok=True)
        with tempfile.TemporaryFile(dir=state_dir):
            return
    except OSError as error:
        raise BadInput(
            f"the state directory {state_dir} cannot be used: {error.strerror or error}",
            hint="make it writable, or choose another with --state-dir or OPENCLAW_STATE_DIR",
        ) from error


def _is_text(path: Path) -> bool:
    try:
        str(path).encode()
    except UnicodeEncodeError:
        return False
    return True


def lock_state_dir(state_dir: Path) -> int:
    """Take the lock that the one `ocw up` of a state directory holds, and write our pid into its file.

    Returns the open file. The kernel releases the lock when this process ends, so that `ocw down` waits for that.

    Raises:
        ConflictError: another process holds the lock.
    """
    fd = os.open(state_dir / LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o600)
    if not _flock(fd):
        pid = os.read(fd, 32).decode(errors="replace").strip() or "unknown"
        os.close(fd)
        raise already_running(state_dir, pid)
    os.ftruncate(fd, 0)
    os.write(fd, f"{os.getpid()}\n".encode())
    return fd


def already_running(state_dir: Path, pid: int | str) -> ConflictError:
    return ConflictError(
        f"`ocw up` is already running on {state_dir} (pid {pid})",
        hint=f"stop it with `ocw down --state-dir {shlex.quote(str(state_dir))}`, or give this one another --state-dir",
    )


def _flock(fd: int) -> bool:
    # Retry a few times: `running_pid` in another process holds the lock for an instant while it checks.
    for _ in range(5):
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(0.02)
        else:
            return True
    return False


def running_pid(state_dir: Path) -> int | None:
    """The pid of the `ocw up` that holds this state directory, or None.

    Raises:
        BadInput: this user may not read the lock file.
    """
    path = state_dir / LOCK_FILE
    try:
        fd = os.open(path, os.O_RDONLY)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise BadInput(
            f"cannot tell whether `ocw up` is running: {path} cannot be read: {error.strerror}",
            hint="run this as the user who started it, or choose another --state-dir",
        ) from error
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        text = os.read(fd, 32)
        return int(text) if text.strip().isdigit() else None
    else:
        return None
    finally:
        os.close(fd)


def resolve_redis_url(host: Host) -> str:
    """Find the Redis of this command: REDIS_URL, else the configuration file, else a running `ocw up`.

    Raises:
        NotFound: none of the three names a Redis.
        ConfigurationError: the named one is no address of a Redis.
        BadInput: this user may not check whether `ocw up` is running.
    """
    if host.redis_url:
        return host.redis_url
    state_dir = host.state_dir
    if running_pid(state_dir) is not None and (runtime := read_runtime(state_dir)) is not None:
        return runtime.redis_url
    raise NotFound(no_redis(host), hint="start everything with `ocw up` in another terminal")


def no_redis(host: Host) -> str:
    return f"nothing is running on {host.state_dir}, and neither REDIS_URL nor the configuration names a Redis"
