"""Plugins of the configuration change or hold back what the ingress sends."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from ingress.context import IngressContext
from ingress.delivery import services
from ingress.delivery.sending_hook import HeldBack
from openclaw_workers.config.settings import Settings
from openclaw_workers.domain.messages import Route
from openclaw_workers.domain.outgoing import OutgoingKind, OutgoingMessage

PLUGIN = """
from openclaw_workers import hook

@hook("message_sending")
def loud(event):
    if "secret" in event["text"]:
        return {"block": True, "reason": "it is secret"}
    return {"text": event["text"].upper()}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    path = list(sys.path)
    (tmp_path / "sending_plugin.py").write_text(PLUGIN)
    yield tmp_path
    sys.path[:] = path
    sys.modules.pop("sending_plugin", None)


def test_a_message_passes_the_hooks_of_configured_modules(
    folder: Path, monkeypatch: pytest.MonkeyPatch, no_hooks: None
) -> None:
    made: list[dict[str, Any]] = []

    def sender_of(**given: Any) -> SimpleNamespace:
        made.append(given)
        return SimpleNamespace(run=None)

    monkeypatch.setattr("ingress.delivery.sender.Sender", sender_of)
    settings = Settings.model_validate({"plugins": {"paths": [str(folder)], "modules": ["sending_plugin"]}})
    stores = SimpleNamespace(outbox=None, reader=None, keys=None)
    context = SimpleNamespace(adapters=["one"], settings=settings, redis=None, stores=stores, call=None)

    services(cast("IngressContext", context))
    assert "sending_plugin" not in sys.modules, "nothing is imported before it is needed"
    (sender,) = made

    def finished(text: str) -> str:
        message = OutgoingMessage(id="m", kind=OutgoingKind.NOTICE, route=Route(channel="test"), text=text)
        return str(sender["finish"](message).text)

    assert finished("hello") == "HELLO"
    with pytest.raises(HeldBack, match="it is secret"):
        finished("the secret")
