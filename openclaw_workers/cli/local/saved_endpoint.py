"""A port and a password that stay the same from one `ocw up` to the next."""

from __future__ import annotations

import secrets
import socket
from pathlib import Path
from typing import Self

from pydantic import BaseModel, Field, ValidationError

from openclaw_workers.errors import BadInput
from openclaw_workers.state_dir import write_private

LOOPBACK = "127.0.0.1"


class SavedEndpoint(BaseModel):
    """Kept as a small JSON file that only its owner can read."""

    port: int = Field(ge=1, le=65535)
    user: str
    password: str = Field(pattern=r"^[A-Za-z0-9_.~-]+$")
    """Used without escaping in URLs and in the configuration of Redis."""

    @classmethod
    def load(cls, path: Path, *, default_port: int, user: str) -> Self:
        """Read the stored one, or create one. Its port is the first free one of: stored, default, any.

        Raises:
            BadInput: the file has values that cannot be used.
        """
        try:
            kept = cls.model_validate_json(path.read_bytes())
        except (OSError, ValidationError) as error:
            if wrong := _wrong_values(error):
                raise BadInput(
                    f"{path} cannot be used: {wrong}", hint="correct it, or delete it to get a new one"
                ) from error
            kept = cls(port=default_port, user=user, password=secrets.token_urlsafe(24))
        # The stored port first: other terminals and scripts may still have the old URL.
        for port in (kept.port, default_port):
            if is_free(port):
                return kept.at_port(path, port)
        return kept.at_port(path, any_free_port())

    def at_port(self, path: Path, port: int) -> Self:
        moved = self.model_copy(update={"port": port})
        write_private(path, moved.model_dump_json() + "\n")
        return moved


def _wrong_values(error: OSError | ValidationError) -> str | None:
    """Which values are wrong, without the values themselves; None if the file is missing or incomplete."""
    if not isinstance(error, ValidationError) or error.errors()[0]["type"] == "json_invalid":
        return None
    return "; ".join(f"{'.'.join(map(str, each['loc'])) or 'it'}: {each['msg']}" for each in error.errors())


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        # Without it, a port in TIME_WAIT from our last run counts as taken.
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
