"""What OpenAI's SDK is handed: a body that it sends as it is, without a look at each message."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import openai
import pytest
from openai._utils import _transform

from openclaw_workers.config.models import Api
from openclaw_workers.models.transcript import (
    AssistantEntry,
    Attachment,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    TranscriptEntry,
    UserEntry,
)
from openclaw_workers.providers.openai.client import CLIENTS
from tests.support.wire import WireServer
from tests.unit.providers.talk import result, user
from tests.unit.providers.wired import Line

OPENAI: tuple[Api, ...] = ("openai-completions", "openai-responses")
SAID = "a sentence of the conversation"


@pytest.fixture
def conversation(tmp_path: Path) -> list[TranscriptEntry]:
    """One entry of each kind that an API is sent."""
    picture = tmp_path / "p.png"
    picture.write_bytes(b"\x89PNG")
    call = ToolCallBlock(id="call_1", name="read", arguments={"path": "größe.txt"})
    files = [Attachment(name="p.png", mime_type="image/png", path=str(picture))]
    sealed = '{"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "sealed well"}'
    return [
        UserEntry(content=[TextBlock(text=SAID)], attachments=files),
        AssistantEntry(
            content=[ThinkingBlock(thinking="well", signature=sealed), TextBlock(text=SAID), call],
            provider="wired",
            model="m",
        ),
        result(call, SAID),
        user(SAID),
    ]


@pytest.mark.parametrize("api", OPENAI)
def test_the_sdk_does_not_walk_through_the_conversation(
    server: WireServer, api: Api, conversation: list[TranscriptEntry], monkeypatch: pytest.MonkeyPatch
) -> None:
    line, walked = Line(server, api), list[str]()
    original = _transform._transform_recursive

    def watched(data: object, **more: Any) -> object:
        walked.append(repr(data))
        return original(data, **more)

    monkeypatch.setattr(_transform, "_transform_recursive", watched)
    line.ask(*conversation)

    assert SAID in str(line.sent)
    assert walked, "the SDK no longer transforms as it did: this test sees nothing"
    assert not [each for each in walked if SAID in each or "Reads a file." in each]


@pytest.mark.parametrize("api", OPENAI)
def test_the_body_is_the_one_that_the_sdk_would_make(
    server: WireServer, api: Api, conversation: list[TranscriptEntry]
) -> None:
    line = Line(server, api)
    line.ask(*conversation, thinking="high")
    ours = line.sent
    assert server.requests[-1].problems == []

    client = CLIENTS.of(line.endpoint)
    typed: dict[str, Any] = {**ours, "stream": True}
    create: Any = client.responses.create if api == "openai-responses" else client.chat.completions.create
    with create(**typed) as events:
        assert isinstance(events, openai.Stream)
        list(events)
    assert line.sent == ours
    assert (ours["model"], ours["stream"]) == ("m", True)
