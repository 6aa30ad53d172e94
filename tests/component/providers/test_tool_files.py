"""Images and documents that tools returned, as each API takes them."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest

from openclaw_workers.config.models import Api
from openclaw_workers.domain.media_types import PDF
from openclaw_workers.domain.transcript import (
    AssistantEntry,
    FileBlock,
    ImageBlock,
    TextBlock,
    ToolCallBlock,
    ToolResultEntry,
    TranscriptEntry,
)
from openclaw_workers.providers.openai.tool_files import FILES_OF_TOOLS
from tests.component.providers.wire_conversation import Wire
from tests.support.wire import Failure, Recorded, Reply, WireServer
from tests.support.wire.behaviour import Behaviour
from tests.unit.providers.offline_conversation import text_of, user

PNG = b"\x89PNG\r\n\x1a\n"


def image(tmp_path: Path, name: str = "p.png") -> ImageBlock:
    (tmp_path / name).write_bytes(PNG)
    return ImageBlock(name=name, mime_type="image/png", path=str(tmp_path / name))


def document(tmp_path: Path) -> FileBlock:
    (tmp_path / "r.pdf").write_bytes(b"%PDF-1.7")
    return FileBlock(name="r.pdf", mime_type=PDF, path=str(tmp_path / "r.pdf"))


def conversation(*files: ImageBlock | FileBlock, text: str = "see", failed: bool = False) -> list[TranscriptEntry]:
    """Two calls in one message; the first result has the files, the second only text."""
    calls = [ToolCallBlock(id=f"call_{n}", name="read", arguments={"path": "p"}) for n in range(2)]
    content = [*([TextBlock(text=text)] if text else []), *files]
    return [
        user("look"),
        AssistantEntry(content=calls, stop_reason="toolUse"),
        ToolResultEntry(tool_call_id="call_0", tool_name="read", content=content, is_error=failed),
        ToolResultEntry(tool_call_id="call_1", tool_name="read", content=[TextBlock(text="other")]),
    ]


def results_sent(wire: Wire) -> Any:
    """Where the last request holds the first result, and all that follows it."""
    body = wire.sent
    if "input" in body:
        return [item for item in body["input"] if item.get("type") == "function_call_output" or item.get("role")][1:]
    return body["messages"][2:] if body["messages"][0]["role"] == "user" else body["messages"][3:]


def test_anthropic_gets_them_inside_the_result(server: WireServer, tmp_path: Path) -> None:
    wire = Wire(server, "anthropic-messages", input=["text", "image", "file"])
    assert text_of(wire.ask(*conversation(image(tmp_path), document(tmp_path))))
    first, second = results_sent(wire)[0]["content"]
    text, shown, attached = first["content"]
    assert text == {"type": "text", "text": "see"}
    assert base64.b64decode(shown["source"]["data"]) == PNG
    assert (attached["type"], attached["title"]) == ("document", "r.pdf")
    assert second["content"] == [{"type": "text", "text": "other"}]
    assert server.requests[-1].problems == []


def test_chat_completions_gets_them_in_a_message_after_all_results(server: WireServer, tmp_path: Path) -> None:
    wire = Wire(server, "openai-completions", input=["text", "image", "file"])
    for more in ([], [user("and?")]):
        wire.ask(*conversation(image(tmp_path), document(tmp_path)), *more, worker_line="[Runtime: here]")
        first, second, files, *rest = results_sent(wire)
        assert first["content"].startswith(f"see\n[attached file: p.png (image/png) at {tmp_path}/p.png]")
        assert (second["role"], second["content"]) == ("tool", "other")
        label, shown, attached = files["content"]
        assert (files["role"], label["text"]) == ("user", FILES_OF_TOOLS)
        assert shown["image_url"]["url"].endswith(base64.b64encode(PNG).decode())
        assert attached["file"]["filename"] == "r.pdf"
        assert len(rest) == len(more)
        assert server.requests[-1].problems == []


def test_responses_gets_them_as_parts_of_the_output(server: WireServer, tmp_path: Path) -> None:
    wire = Wire(server, "openai-responses", input=["text", "image", "file"])
    wire.ask(*conversation(image(tmp_path), document(tmp_path)))
    first, second = results_sent(wire)
    assert [part["type"] for part in first["output"]] == ["input_text", "input_image", "input_file"]
    assert second["output"] == "other", "a result without files stays text"
    assert server.requests[-1].problems == []


def test_a_server_that_takes_only_text_gets_them_in_a_message(server: WireServer, tmp_path: Path) -> None:
    """It is learned from its error, once."""

    def refuse_parts(request: Recorded) -> Behaviour:
        parts = any(isinstance(item.get("output"), list) for item in request.body["input"])
        return Failure(400, "input[3].output: expected a string, got an image list") if parts else Reply("fine")

    server.answer = refuse_parts
    wire = Wire(server, "openai-responses", model="text-only")
    talk = conversation(image(tmp_path))
    assert text_of(wire.ask(*talk)) == "fine"
    assert text_of(wire.ask(*talk)) == "fine"
    assert len(server.requests) == 3
    first, second, files = results_sent(wire)
    assert first["output"].startswith("see\n[attached file: p.png")
    assert second["output"] == "other"
    assert [part["type"] for part in files["content"]] == ["input_text", "input_image"]


@pytest.mark.parametrize("text", ["see", ""])
def test_a_model_that_takes_no_files_learns_where_they_are(
    server: WireServer, tmp_path: Path, api: Api, text: str
) -> None:
    wire = Wire(server, api, input=["text"])
    wire.ask(*conversation(image(tmp_path), document(tmp_path), text=text))
    sent = str(results_sent(wire))
    assert f"[attached file: p.png (image/png) at {tmp_path}/p.png]" in sent
    assert f"[attached file: r.pdf (application/pdf) at {tmp_path}/r.pdf]" in sent
    assert "base64" not in sent
    assert server.requests[-1].problems == []


def test_a_failed_result_with_files_is_still_valid(server: WireServer, tmp_path: Path, api: Api) -> None:
    Wire(server, api).ask(*conversation(image(tmp_path), failed=True))
    assert server.requests[-1].problems == []


def test_a_refused_image_of_a_tool_is_only_named_from_then_on(server: WireServer, tmp_path: Path, api: Api) -> None:
    wire = Wire(server, api, model="refuses")
    encoded = base64.b64encode(PNG).decode()
    server.answer = lambda request: (
        Failure(400, "Could not process image") if encoded in str(request.body) else Reply("fine")
    )
    assert text_of(wire.ask(*conversation(image(tmp_path)))) == "fine"
    assert len(server.requests) == 2


def test_a_link_put_in_place_of_a_stored_file_is_not_followed(server: WireServer, tmp_path: Path, api: Api) -> None:
    """Whoever can write to the workspace must not have files of the host sent."""
    (tmp_path / "secret.png").write_bytes(PNG + b"secret")
    shown = image(tmp_path)
    (tmp_path / "p.png").unlink()
    (tmp_path / "p.png").symlink_to(tmp_path / "secret.png")
    Wire(server, api).ask(*conversation(shown))
    assert base64.b64encode(PNG + b"secret").decode() not in str(server.requests[-1].body)
    assert "[attached file: p.png" in str(server.requests[-1].body)
