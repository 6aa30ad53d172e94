"""Unit tests do no I/O beyond files: a test that starts a process, connects or sleeps belongs in tests/component."""

from __future__ import annotations

import os
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

FORBIDDEN = (
    (subprocess.Popen, "__init__"),
    (os, "fork"),
    (socket.socket, "connect"),
    (socket.socket, "bind"),
    (threading.Timer, "__init__"),
    (time, "sleep"),
)


@pytest.fixture(scope="module", autouse=True)
def no_io() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for owner, name in FORBIDDEN:
            patch.setattr(owner, name, _refusing(name, getattr(owner, name)))
        yield


def _refusing(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
    def refuse(*args: Any, **more: Any) -> Any:
        # Threads of other tests in this process may still be running. They are not checked.
        if threading.current_thread() is not threading.main_thread():
            return original(*args, **more)
        pytest.fail(f"a unit test called {name}; see tests/unit/conftest.py")

    return refuse
