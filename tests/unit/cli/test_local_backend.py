"""The parts of the local backend, which are loaded when they are called."""

from __future__ import annotations

from typing import Any
from unittest.mock import MagicMock

from openclaw_workers.cli.backend.local import LocalBackend
from openclaw_workers.cli.backend.protocol import Backend


def test_every_method_of_the_protocol_is_found_in_a_part() -> None:
    backend: Any = LocalBackend(MagicMock())
    wanted = [name for name in vars(Backend) if not name.startswith("_")]

    assert len(wanted) > 50
    assert [name for name in wanted if not hasattr(backend, name)] == []
