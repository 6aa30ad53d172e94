"""Commands in the background. Each has a directory under the state directory, where any worker of it finds it."""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import socket
from base64 import b64encode
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from openclaw_workers.clock import now_ms
from openclaw_workers.errors import ToolError
from openclaw_workers.tools.shell.holder.spec import EXIT_FILE, LOCK, SOCKET, Exit
from openclaw_workers.tools.shell.output_files import OutputFiles
from openclaw_workers.tools.shell.start import remove

COMMANDS_DIR = "commands"
"""In the state directory."""
INFO_FILE = "info.json"
READ_TO_FILE = "read_to"
FINISHED = "finished"
"""Directory with one empty file for each command whose end was not reported yet."""
_ANSWER_SECONDS = 5.0
# The kernel's limit is 108 bytes on Linux and 104 on macOS.
_MAX_SOCKET_PATH = 100


@dataclass(frozen=True, slots=True)
class CommandInfo:
    """What is known of a command from its start on."""

    id: str
    command: str
    cwd: str
    agent_id: str
    session_key: str
    authority: str
    """Of whoever asked for the turn that started it."""
    pid: int
    host: str
    pty: bool
    sandboxed: bool
    started_at: int
    """Epoch milliseconds."""
    shown_bytes: int
    """How much of its output the call that started it has returned."""
    keep_ms: int
    """How long its output is kept after its end."""


class HeldCommand:
    def __init__(self, directory: Path, info: CommandInfo) -> None:
        self.directory = directory
        self.info = info

    def exit(self) -> Exit | None:
        try:
            ended: Exit = json.loads((self.directory / EXIT_FILE).read_bytes())
        except (FileNotFoundError, ValueError):
            return None
        return ended

    def state(self) -> str:
        """running, exited, or what is known of a command whose holder is gone."""
        if self.exit() is not None:
            return "exited"
        if self._is_held():
            return "running"
        if self.exit() is not None:  # it ended between the two looks
            return "exited"
        where = "this host" if self.info.host == socket.gethostname() else f"host {self.info.host}, which is gone"
        return f"lost: the process that held it on {where} was ended or the host was restarted; its outcome is unknown"

    def _is_held(self) -> bool:
        try:
            fd = os.open(self.directory / LOCK, os.O_RDWR)
        except OSError:
            return False
        try:
            # A shared lock: two workers that look at the same time must not take each other for the holder.
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        else:
            return False
        finally:
            os.close(fd)

    def output(self, offset: int = 0) -> OutputFiles:
        return OutputFiles(self.directory, offset)

    def unread(self) -> OutputFiles:
        """The output that no poll has returned yet."""
        try:
            return self.output(int((self.directory / READ_TO_FILE).read_text(encoding="ascii")))
        except (FileNotFoundError, ValueError):
            return self.output(self.info.shown_bytes)

    def mark_read(self, offset: int) -> None:
        # If this fails, the next poll repeats some output, which is better than a failed poll.
        with suppress(OSError):
            (self.directory / READ_TO_FILE).write_text(str(offset), encoding="ascii")

    def write(self, data: bytes, *, eof: bool = False) -> int:
        """Give it input; return how many bytes it has not read yet.

        Raises:
            ToolError: it is over, cannot be reached, or reads no input.
        """
        return int(self._request({"op": "write", "data": b64encode(data).decode(), "eof": eof})["pending"])

    def kill(self) -> None:
        """End it and all it started.

        Raises:
            ToolError: it is over or cannot be reached.
        """
        self._request({"op": "kill"})

    def _request(self, request: dict[str, Any]) -> dict[str, Any]:
        if (state := self.state()) != "running":
            raise ToolError(f"command {self.info.id} no longer runs ({state})")
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
                connection.settimeout(_ANSWER_SECONDS)
                _connect(connection, self.directory)
                connection.sendall(json.dumps(request).encode() + b"\n")
                answer: dict[str, Any] = json.loads(connection.makefile("rb").readline() or b"{}")
        except (OSError, ValueError) as error:
            where = self.info.host
            raise ToolError(f"command {self.info.id} runs on host {where} and cannot be reached from here") from error
        if "ok" not in answer:
            raise ToolError(f"command {self.info.id}: {answer.get('error', 'no answer')}")
        return answer


def _connect(connection: socket.socket, directory: Path) -> None:
    """A path of a socket has at most about 100 bytes; a longer one is named by a descriptor of its directory."""
    path = str(directory / SOCKET)
    if len(path.encode()) <= _MAX_SOCKET_PATH:
        connection.connect(path)
        return
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        connection.connect(f"/proc/self/fd/{fd}/{SOCKET}")
    finally:
        os.close(fd)


@dataclass(frozen=True, slots=True)
class CommandDirectory:
    """All background commands of one place."""

    root: Path
    authority: str = ""
    """Of the turn that uses it; stored with the commands that it starts."""
    notifies: bool = True
    """Whether the end of a command is reported to its session."""
    keep_ms: int = 1_800_000
    """How long the output of a command is kept after its end."""

    def new(self) -> Path:
        """A directory for a new command, closed to other users; its name is the command's id."""
        while True:
            directory = self.root / secrets.token_hex(4)
            self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
            with suppress(FileExistsError):
                directory.mkdir(mode=0o700)
                return directory

    def finished_file(self, directory: Path) -> Path | None:
        if not self.notifies:
            return None
        (self.root / FINISHED).mkdir(mode=0o700, exist_ok=True)
        return self.root / FINISHED / directory.name

    def keep(self, directory: Path, info: CommandInfo) -> None:
        """Make a command known to others."""
        # Other workers may read at any time, so they must never find half a file.
        temporary = directory / f"{INFO_FILE}.tmp"
        temporary.write_text(json.dumps(asdict(info)), encoding="utf-8")
        os.replace(temporary, directory / INFO_FILE)

    def get(self, command_id: str, session_key: str | None = None) -> HeldCommand | None:
        """One command; with a session, only one of its own."""
        # The id comes from a model and becomes part of a path.
        if not command_id.isalnum():
            return None
        try:
            info = CommandInfo(**json.loads((self.root / command_id / INFO_FILE).read_bytes()))
        # TypeError: a worker of another version has written other fields.
        except (OSError, ValueError, TypeError):
            return None
        return HeldCommand(self.root / command_id, info) if session_key in (None, info.session_key) else None

    def all(self, session_key: str | None = None) -> Iterator[HeldCommand]:
        """Commands, oldest first."""
        try:
            names = [entry.name for entry in sorted(os.scandir(self.root), key=lambda entry: entry.stat().st_ctime)]
        except FileNotFoundError:
            return
        for name in names:
            if command := self.get(name, session_key):
                yield command

    def finished(self) -> list[str]:
        """Ids of commands whose end was not reported yet."""
        with suppress(FileNotFoundError):
            return [name for name in os.listdir(self.root / FINISHED) if name.isalnum()]
        return []

    def mark_reported(self, command_id: str) -> None:
        (self.root / FINISHED / command_id).unlink(missing_ok=True)

    def remove(self, command: HeldCommand) -> None:
        self.mark_reported(command.info.id)
        remove(command.directory)

    def prune(self) -> int:
        """Delete commands that ended long ago; return how many."""
        now = now_ms()
        old = [each for each in self.all() if _ended_at(each) + each.info.keep_ms < now]
        for command in old:
            self.remove(command)
        return len(old)


def _ended_at(command: HeldCommand) -> float:
    """Epoch milliseconds; infinite while it runs."""
    if ended := command.exit():
        return ended["ended_at"]
    if command.state() == "running":
        return float("inf")
    # A lost holder has written no exit file; the last change of its directory is the best guess.
    return command.directory.stat().st_mtime * 1000
