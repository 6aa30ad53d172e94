"""Transcript entries as people read them."""

from __future__ import annotations

from openclaw_workers.cli.render.transcripts import entry_lines
from openclaw_workers.domain.transcript import (
    Attachment,
    FileBlock,
    ImageBlock,
    TextBlock,
    ToolResultEntry,
    UserEntry,
)


def test_files_are_shown_with_their_type_and_path() -> None:
    image = ImageBlock(name="p.png", mime_type="image/png", path="/w/p.png")
    file = FileBlock(name="r.pdf", mime_type="application/pdf", path="/w/r\x1b[2J.pdf")
    result = ToolResultEntry(tool_call_id="c", tool_name="read", content=[TextBlock(text="see"), image, file])
    assert entry_lines(result) == ["read returned: see", "  [image/png /w/p.png]", "  [application/pdf /w/r.pdf]"]
    said = UserEntry(
        content=[TextBlock(text="look")], attachments=[Attachment(name="a", mime_type="text/plain", path="/w/a")]
    )
    assert entry_lines(said) == ["user: look", "  [text/plain /w/a]"]


def test_files_stay_visible_below_a_long_result() -> None:
    image = ImageBlock(name="p.png", mime_type="image/png", path="/w/p.png")
    text = TextBlock(text="\n".join(map(str, range(50))))
    lines = entry_lines(ToolResultEntry(tool_call_id="c", tool_name="read", content=[text, image]))
    assert lines[-2:] == ["  (38 more lines; --json has them all)", "  [image/png /w/p.png]"]
