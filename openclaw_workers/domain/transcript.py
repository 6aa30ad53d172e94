"""The transcript: one linear, append-only log per session, which is also the journal of a running turn.

Entries are stored as JSON with the field names of OpenClaw's JSONL, so that an export is a plain copy.
"""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter
from pydantic.alias_generators import to_camel

from openclaw_workers.domain.stored_json import model_json


class _Stored(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="ignore")


class TextBlock(_Stored):
    type: Literal["text"] = "text"
    text: str


class ThinkingBlock(_Stored):
    type: Literal["thinking"] = "thinking"
    thinking: str
    signature: str | None = None


class ToolCallBlock(_Stored):
    type: Literal["toolCall"] = "toolCall"
    id: str
    name: str
    arguments: dict[str, Any] = Field(default_factory=dict)


AssistantBlock = Annotated[TextBlock | ThinkingBlock | ToolCallBlock, Field(discriminator="type")]


class Usage(_Stored):
    """Tokens of one or several model calls."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0

    @property
    def total(self) -> int:
        return self.input + self.output + self.cache_read + self.cache_write

    def plus(self, other: Usage) -> Usage:
        return Usage(
            input=self.input + other.input,
            output=self.output + other.output,
            cache_read=self.cache_read + other.cache_read,
            cache_write=self.cache_write + other.cache_write,
        )


def _size_bytes(text: str) -> int:
    # Chinese has one character to three bytes, and about one to a token.
    return len(text) if text.isascii() else len(text.encode(errors="surrogatepass"))


def _block_bytes(block: TextBlock | ThinkingBlock | ToolCallBlock) -> int:
    match block:
        case TextBlock():
            return _size_bytes(block.text)
        case ThinkingBlock():
            return _size_bytes(block.thinking)
        case ToolCallBlock():
            return len(block.name) + _size_bytes(str(block.arguments))


class _Entry(_Stored):
    """It never changes, so what is derived from it is kept with it."""

    @cached_property
    def derived(self) -> dict[str, Any]:
        """What others have computed from the entry, under names of theirs."""
        return {}


class _Seen(_Entry):
    """An entry that the model sees."""

    @cached_property
    def approx_tokens(self) -> int:
        """About four bytes to a token; good enough to stay inside a window with a margin."""
        blocks: list[TextBlock | ThinkingBlock | ToolCallBlock] = getattr(self, "content", [])
        return 4 + sum(_block_bytes(block) for block in blocks) // 4


class Attachment(_Stored):
    """A file that came with a message. Its bytes stay where they are: a model that reads such files is sent them."""

    name: str
    mime_type: str
    path: str


class UserEntry(_Seen):
    role: Literal["user"] = "user"
    content: list[TextBlock]
    attachments: list[Attachment] = Field(default_factory=list)
    timestamp: int = 0
    run_id: str | None = None
    message_ids: list[str] = Field(default_factory=list)
    """The accepted messages this entry carries; several when they were collected."""
    provenance: str | None = None
    """`steer` when it joined a running turn; otherwise where an internal message came from."""


class AssistantEntry(_Seen):
    role: Literal["assistant"] = "assistant"
    content: list[AssistantBlock]
    timestamp: int = 0
    run_id: str | None = None
    api: str | None = None
    provider: str | None = None
    model: str | None = None
    usage: Usage = Field(default_factory=Usage)
    stop_reason: Literal["stop", "toolUse", "length", "aborted", "error"] = "stop"

    @property
    def text(self) -> str:
        return "".join(block.text for block in self.content if isinstance(block, TextBlock))

    @cached_property
    def tool_calls(self) -> list[ToolCallBlock]:
        return [block for block in self.content if isinstance(block, ToolCallBlock)]


class ToolResultEntry(_Seen):
    role: Literal["toolResult"] = "toolResult"
    tool_call_id: str
    tool_name: str
    content: list[TextBlock]
    is_error: bool = False
    timestamp: int = 0
    run_id: str | None = None


class NoticeEntry(_Entry):
    """Shown to people, never to the model: why a turn failed, a dropped message."""

    approx_tokens: ClassVar[int] = 0
    role: Literal["notice"] = "notice"
    text: str
    level: Literal["info", "warning", "error"] = "info"
    timestamp: int = 0
    run_id: str | None = None


class CompactionEntry(_Entry):
    """From here on the model sees a summary in place of older entries, which stay in the log."""

    approx_tokens: ClassVar[int] = 0
    role: Literal["compaction"] = "compaction"
    summary: str
    kept: int = 0
    """How many entries directly before this one the model still sees.

    Counted back from here, it stays true wherever the log is read from and wherever it is moved to; and where an
    entry has become unreadable the model sees one more, never one less.
    """
    request: str = ""
    """What was being worked on, in the words it was asked in, if that message is no longer seen."""
    tokens_before: int = 0
    tokens_after: int = 0
    details: dict[str, Any] = Field(default_factory=dict)
    timestamp: int = 0
    run_id: str | None = None


SeenEntry = UserEntry | AssistantEntry | ToolResultEntry
"""What goes to a model."""

TranscriptEntry = SeenEntry | NoticeEntry | CompactionEntry

_ENTRY: TypeAdapter[TranscriptEntry] = TypeAdapter(
    Annotated[TranscriptEntry, Field(discriminator="role")],
)


def load_entry(raw: str | bytes) -> TranscriptEntry:
    """Read one stored entry.

    Raises:
        pydantic.ValidationError: the record is damaged or of a kind this version does not know.
    """
    return _ENTRY.validate_json(raw)


def dump_entry(entry: TranscriptEntry) -> str:
    return model_json(entry, by_alias=True, exclude_none=True, exclude_defaults=False)
