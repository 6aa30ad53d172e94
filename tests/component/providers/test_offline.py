"""The offline models while a turn is stopped, and in a process that crashes."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time

import pytest

from openclaw_workers.cancel import Cancel
from openclaw_workers.errors import TurnAborted
from openclaw_workers.providers.base import ModelRequest, UsageSoFar
from openclaw_workers.providers.offline.event_stream import estimate_tokens
from openclaw_workers.providers.registry import Providers
from tests.unit.providers.offline_conversation import program, user


def test_a_crash_kills_the_process_and_nothing_else() -> None:
    code = """
import json
from openclaw_workers.cancel import Cancel
from openclaw_workers.domain.transcript import TextBlock, UserEntry
from openclaw_workers.providers.base import ModelRequest
from openclaw_workers.providers.registry import Providers
text = json.dumps({"steps": [{"text": "half of this", "fail": "crash"}]})
request = ModelRequest("script", "", [UserEntry(content=[TextBlock(text=text)])])
for event in Providers().get("offline").stream(request, Cancel()):
    print(event, flush=True)
"""
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert child.returncode == -signal.SIGKILL
    assert "half " in child.stdout
    assert "Answer" not in child.stdout


def test_tokens_are_reported_before_the_wait_so_that_an_abandoned_call_is_counted() -> None:
    message = user(program({"delayMs": 60_000, "text": "late"}))
    cancel = Cancel()
    events = Providers().get("offline").stream(ModelRequest("script", "system", [message]), cancel)
    first = next(events)
    assert isinstance(first, UsageSoFar)
    assert first.usage.input == estimate_tokens("system" + message.content[0].text)
    threading.Timer(0.1, cancel.set, [TurnAborted("stopped")]).start()
    began = time.monotonic()
    with pytest.raises(TurnAborted):
        next(events)
    assert time.monotonic() - began < 0.6


def test_slow_counting_can_be_stopped() -> None:
    cancel = Cancel()
    events = Providers().get("offline").stream(ModelRequest("demo", "", [user("count to 20 slowly")]), cancel)
    next(events)
    next(events)
    threading.Timer(0.05, cancel.set, [TurnAborted("stopped")]).start()
    began = time.monotonic()
    with pytest.raises(TurnAborted):
        next(events)
    assert time.monotonic() - began < 0.5
