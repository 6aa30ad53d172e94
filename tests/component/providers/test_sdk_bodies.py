"""What the SDKs are handed: a body that they send as it is, without a look at each message."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from anthropic._utils import _prepare
from openai._utils import _transform

from openclaw_workers.config.models import Api
from openclaw_workers.domain.transcript import (
    Attachment,
    TextBlock,
    TranscriptEntry,
    UserEntry,
)
from openclaw_workers.providers.anthropic.stream import CLIENTS as ANTHROPIC
from openclaw_workers.providers.openai.client import CLIENTS as OPENAI
from tests.component.providers.wire_conversation import APIS, Wire
from tests.support.wire import Called, Reply, WireServer
from tests.unit.providers.offline_conversation import result, user

SAID = "a sentence of the conversation"


@pytest.fixture(params=APIS)
def line(request: pytest.FixtureRequest, server: WireServer) -> Wire:
    api: Api = request.param
    return Wire(server, api)


@pytest.fixture
def conversation(line: Wire, tmp_path: Path) -> list[TranscriptEntry]:
    """One entry of each kind that an API is sent, the model's thoughts among them."""
    picture = tmp_path / "p.png"
    picture.write_bytes(b"\x89PNG")
    files = [Attachment(name="p.png", mime_type="image/png", path=str(picture))]
    asked = UserEntry(content=[TextBlock(text=SAID)], attachments=files)
    line.server.script.append(Reply(SAID, thinking="well", calls=[Called("read", {"path": "größe.txt"})]))
    answered = line.entry(line.answer(asked, thinking="high"))
    return [asked, answered, result(answered.tool_calls[0], SAID), user(SAID)]


def create_by_the_sdk(line: Wire, **typed: Any) -> None:
    """The same call as its SDK offers it, which goes through all that it is given."""
    client: Any
    match line.provider.api:
        case "anthropic-messages":
            client = ANTHROPIC.of(line.endpoint)
            events = client.messages.create(**typed)
        case "openai-responses":
            client = OPENAI.of(line.endpoint)
            events = client.responses.create(**typed)
        case _:
            client = OPENAI.of(line.endpoint)
            events = client.chat.completions.create(**typed)
    with events:
        list(events)


def test_the_sdk_does_not_walk_through_the_conversation(
    line: Wire, conversation: list[TranscriptEntry], monkeypatch: pytest.MonkeyPatch
) -> None:
    is_anthropic, walked = line.provider.api == "anthropic-messages", list[str]()
    module, name = (_prepare, "copy_tree") if is_anthropic else (_transform, "_transform_recursive")
    original = getattr(module, name)

    def watched(data: object, **more: Any) -> object:
        walked.append(repr(data))
        return original(data, **more)

    monkeypatch.setattr(module, name, watched)
    line.ask(*conversation)
    assert SAID in str(line.sent)
    assert not [each for each in walked if SAID in each or "Reads a file." in each]

    create_by_the_sdk(line, **line.sent)
    assert [each for each in walked if SAID in each], "the SDK works otherwise than it did: this test sees nothing"


def test_the_body_is_the_one_that_the_sdk_would_make(line: Wire, conversation: list[TranscriptEntry]) -> None:
    line.ask(*conversation, thinking="high", worker_line="[Runtime: here]")
    ours = line.server.requests[-1]
    assert ours.problems == []
    create_by_the_sdk(line, **ours.body)
    theirs = line.server.requests[-1]
    assert theirs.body == ours.body

    def names(headers: dict[str, str]) -> set[str]:
        return {name for name in headers if not name.startswith("x-stainless")}

    assert names(ours.headers) == names(theirs.headers)
    assert ours.headers["content-type"] == "application/json"
