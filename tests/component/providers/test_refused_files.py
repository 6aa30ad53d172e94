"""Files that an API refuses do not end a conversation: from then on the model gets their names instead."""

from __future__ import annotations

from pathlib import Path

import pytest

from openclaw_workers.config.models import Api
from openclaw_workers.domain.transcript import AssistantEntry, Attachment, TextBlock, UserEntry
from openclaw_workers.errors import FailureReason, ProviderError
from tests.component.providers.wire_conversation import Wire
from tests.support.wire import Failure, Recorded, Reply, WireServer
from tests.support.wire.behaviour import Behaviour
from tests.unit.providers.offline_conversation import text_of

REFUSALS = [
    "messages.2.content.1.image.source.base64: Could not process image",
    "messages.2.content.1.document.source.base64.data: The PDF specified is password protected.",
    "A maximum of 100 PDF pages may be provided.",
    "You uploaded an unsupported image. Please make sure your image is valid.",
    "Invalid file data: 'file_data'.",
]

SAID = AssistantEntry(content=[TextBlock(text="I see.")])


def picture(tmp_path: Path, name: str) -> UserEntry:
    path = tmp_path / name
    path.write_bytes(name.encode())
    file = Attachment(name=name, mime_type="image/png", path=str(path))
    return UserEntry(content=[TextBlock(text="see")], attachments=[file])


def is_sent(request: Recorded, name: str) -> bool:
    """Whether the picture itself is in a request, and not its name."""
    return f"[attached file: {name}" not in str(request.body)


@pytest.mark.parametrize("error", REFUSALS)
def test_a_refused_file_is_only_named_from_then_on(server: WireServer, tmp_path: Path, api: Api, error: str) -> None:
    wire = Wire(server, api)
    good, bad = picture(tmp_path, "good.png"), picture(tmp_path, "bad.png")

    def refuse(request: Recorded) -> Behaviour:
        return Failure(400, error) if is_sent(request, "bad.png") else Reply("fine")

    server.answer = refuse
    assert text_of(wire.ask(good, SAID, bad)) == "fine"
    assert text_of(wire.ask(good, SAID, bad, SAID, "and?")) == "fine"
    assert [is_sent(request, "bad.png") for request in server.requests] == [True, False, False]
    assert all(is_sent(request, "good.png") for request in server.requests), "it was accepted before"


def test_an_earlier_file_is_withheld_if_it_was_not_the_newest(server: WireServer, tmp_path: Path, api: Api) -> None:
    """As if another process had learned of it. The newest file is what the person asks about."""
    wire = Wire(server, api)
    bad, good = picture(tmp_path, "bad.png"), picture(tmp_path, "good.png")
    server.answer = lambda request: Failure(400, "bad image") if is_sent(request, "bad.png") else Reply("fine")
    assert text_of(wire.ask(bad, SAID, good)) == "fine"
    assert text_of(wire.ask(bad, SAID, good, SAID, "and?")) == "fine"
    sent = [(is_sent(request, "bad.png"), is_sent(request, "good.png")) for request in server.requests]
    assert sent == [(True, True), (True, False), (False, True), (False, True)]


def test_all_files_are_withheld_if_no_single_message_is_to_blame(server: WireServer, tmp_path: Path) -> None:
    wire = Wire(server, "anthropic-messages")
    one, two, three = (picture(tmp_path, f"{number}.png") for number in range(3))
    server.answer = lambda request: Failure(400, "bad image") if "base64" in str(request.body) else Reply("fine")
    assert text_of(wire.ask(one, SAID, two)) == "fine"
    asked = len(server.requests)
    assert text_of(wire.ask(one, SAID, two, SAID, three)) == "fine"
    assert len(server.requests) == asked + 2, "a remedy that helped is kept"


def test_innocent_files_are_sent_again(server: WireServer, tmp_path: Path) -> None:
    wire = Wire(server, "openai-completions")
    pictures = [picture(tmp_path, name) for name in ("one.png", "two.png")]
    server.answer = lambda request: Failure(400, "Invalid schema for function 'show': 'file' is not required")
    with pytest.raises(ProviderError):
        wire.ask(pictures[0], SAID, pictures[1])
    server.answer = lambda request: Reply("fine")
    assert text_of(wire.ask(pictures[0], SAID, pictures[1])) == "fine"
    assert all(is_sent(server.requests[-1], name) for name in ("one.png", "two.png"))


def test_a_request_without_files_is_not_retried(server: WireServer) -> None:
    server.script.append(Failure(400, "Invalid image"))
    with pytest.raises(ProviderError) as failed:
        Wire(server, "openai-completions").ask("hello")
    assert failed.value.reason is FailureReason.FORMAT
    assert len(server.requests) == 1


def test_a_request_refused_for_another_reason_is_not_retried(server: WireServer, tmp_path: Path) -> None:
    server.script.append(Failure(400, "messages: too many"))
    with pytest.raises(ProviderError):
        Wire(server, "anthropic-messages").ask(picture(tmp_path, "a.png"))
    assert len(server.requests) == 1
