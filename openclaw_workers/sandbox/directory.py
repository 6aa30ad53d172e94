"""The sandboxes of one state directory: each has a directory of its own, made at its first use."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from openclaw_workers.clock import now_ms
from openclaw_workers.sandbox.box import Access
from openclaw_workers.sandbox.ownership import release_uid, uid_for

SANDBOXES_DIR = "sandboxes"
"""In the state directory."""
BACKEND_FILES = "files"
UIDS = "uids"
_INFO_FILE = "sandbox.json"
_WORKSPACE = "workspace"


@dataclass(frozen=True, slots=True)
class SandboxInfo:
    """What is stored of a sandbox."""

    id: str
    agent_id: str
    session_key: str
    """Of the session that used it last."""
    scope: str
    access: Access
    workspace: str
    uid: int | None
    created_at: int
    idle_ms: int
    """It is deleted when it was not used for so long; 0: never."""
    max_age_ms: int
    """It is deleted when it is older; 0: never."""
    busy_ms: int
    """A command may still run so long after its last use."""


@dataclass(frozen=True, slots=True)
class FoundSandbox:
    info: SandboxInfo
    used_at: int
    """Epoch milliseconds."""

    def is_due(self, now_ms: int) -> bool:
        """Whether it is to be deleted."""
        idle = now_ms - self.used_at
        # Before all else: its files must not vanish under a running command, however old it is.
        if idle <= self.info.busy_ms:
            return False
        is_old = 0 < self.info.max_age_ms < now_ms - self.info.created_at
        return is_old or 0 < self.info.idle_ms < idle


class SandboxDirectory:
    def __init__(self, root: Path) -> None:
        self.root = root

    def home(self, sandbox_id: str) -> Path:
        return self.root / "boxes" / sandbox_id

    def private_workspace(self, sandbox_id: str) -> Path:
        return self.home(sandbox_id) / _WORKSPACE

    def uid(self, key: str, first: int) -> int | None:
        """The user of a sandbox, if this process is root.

        Raises:
            OSError: there is none left.
        """
        return uid_for(key, self.root / UIDS, first) if os.getuid() == 0 else None

    def use(self, info: SandboxInfo) -> Path:
        """Make the sandbox if there is none, and note that it is used now; return its directory.

        Raises:
            OSError: it cannot be made.
        """
        home = self.home(info.id)
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        known = self._read(home)
        beside = home / f"{_INFO_FILE}.{os.getpid()}.tmp"
        # The age counts from the first use, whoever uses it again.
        created = known.info.created_at if known else info.created_at
        beside.write_text(json.dumps({**asdict(info), "created_at": created}), encoding="utf-8")
        os.replace(beside, home / _INFO_FILE)
        return home

    def all(self) -> Iterator[FoundSandbox]:
        """Sandboxes that were used, by name."""
        with suppress(FileNotFoundError):
            for home in sorted((self.root / "boxes").iterdir()):
                if found := self._read(home):
                    yield found

    def _read(self, home: Path) -> FoundSandbox | None:
        path = home / _INFO_FILE
        try:
            info = SandboxInfo(**json.loads(path.read_bytes()))
            return FoundSandbox(info, int(path.stat().st_mtime * 1000))
        except (OSError, ValueError, TypeError):
            return None

    def prune(self, *, everything: bool = False) -> list[str]:
        """Delete sandboxes that are due, or all that are not in use; return their ids."""
        now = now_ms()
        deleted = []
        for found in list(self.all()):
            is_busy = now - found.used_at <= found.info.busy_ms
            if found.is_due(now) or (everything and not is_busy):
                self.remove(found.info)
                deleted.append(found.info.id)
        return deleted

    def remove(self, info: SandboxInfo) -> None:
        """Delete a sandbox and its own files; an agent's workspace is none of them."""
        shutil.rmtree(self.home(info.id), ignore_errors=True)
        if info.access == "none":
            # Only a private sandbox has a user of its own. The user of a shared workspace still owns files there.
            release_uid(info.id, self.root / UIDS)
