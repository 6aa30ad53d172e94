"""A port and a password that stay the same from one `ocw up` to the next."""

from __future__ import annotations

import secrets
import socket
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ValidationError

from openclaw_workers.runtime import write_private

LOOPBACK = "127.0.0.1"


class Endpoint(BaseModel):
    """Kept as a small JSON file that only its owner can read."""

    port: int
    user: str
    password: str

    @classmethod
    def load(cls, path: Path, *, default_port: int, user: str) -> Self:
        """Read the kept one, or make one; its port is the kept, the default or any, whichever is free."""
        try:
            kept = cls.model_validate_json(path.read_bytes())
        except (OSError, ValidationError):
            kept = cls(port=default_port, user=user, password=secrets.token_urlsafe(24))
        for port in (kept.port, default_port):
            if is_free(port):
                return kept.at_port(path, port)
        return kept.at_port(path, any_free_port())

    def at_port(self, path: Path, port: int) -> Self:
        moved = self.model_copy(update={"port": port})
        write_private(path, moved.model_dump_json() + "\n")
        return moved


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        # Without it a port in TIME_WAIT, left by our own last run, counts as taken.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except (OSError, OverflowError):
            return False
        return True


def any_free_port() -> int:
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])
