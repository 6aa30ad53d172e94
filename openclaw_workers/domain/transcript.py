"""The transcript: one linear, append-only log per session. It is also the journal of a running turn.

Entries are stored as JSON with the field names of OpenClaw's JSONL, so that an export is a plain copy.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from operator import attrgetter
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter
from pydantic.alias_generators import to_camel

from openclaw_workers.domain.stored_json import check_json_form, model_json, versioned


class _Stored(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="ignore", defer_build=True)


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


class Attachment(_Stored):
    """A file beside a message. The transcript holds its path; requests to a model read the bytes from there."""

    name: str
    mime_type: str
    path: str
    """Of a file that was sent with a message: below the workspace. The worker that runs the turn makes it absolute."""
    upload: str | None = None
    """Where Redis keeps a sent file until that worker has written it."""
    size: int | None = None
    problem: str = Field(default="", exclude=True)
    """Why the file cannot be read here; known to the worker alone."""

    def found(self, path: str, problem: str) -> None:
        """Note where the file is on this host, or why it is not."""
        self.path, self.problem = path, problem


class _ReturnedFile(Attachment):
    """A file that a tool returned."""

    @property
    def text(self) -> str:
        """What is shown of it where there is only text."""
        return f"[{self.mime_type} {self.path}]"


class ImageBlock(_ReturnedFile):
    """An image that a tool returned."""

    type: Literal["image"] = "image"


class FileBlock(_ReturnedFile):
    """Another file that a tool returned, such as a PDF. Models that do not accept it see its name and path."""

    type: Literal["file"] = "file"


AssistantBlock = Annotated[TextBlock | ThinkingBlock | ToolCallBlock, Field(discriminator="type")]
ContentBlock = Annotated[TextBlock | ImageBlock | FileBlock, Field(discriminator="type")]
"""What the result of a tool consists of."""


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
    # A Chinese character has three bytes and is about one token.
    return len(text) if text.isascii() else len(text.encode(errors="surrogatepass"))


_NOTE_BYTES = 40
"""The words around name, type and path where a file is only named."""


def _block_bytes(block: TextBlock | ThinkingBlock | ToolCallBlock | ImageBlock | FileBlock) -> int:
    match block:
        case TextBlock():
            return _size_bytes(block.text)
        case ThinkingBlock():
            return _size_bytes(block.thinking)
        case ToolCallBlock():
            return len(block.name) + _size_bytes(str(block.arguments))
        case ImageBlock() | FileBlock():
            # Only models that are sent files pay more for them, and their requests are counted with more care.
            return _NOTE_BYTES + _size_bytes(block.name + block.mime_type + block.path)


class _Entry(_Stored):
    """An entry. Its content never changes, so values derived from it are cached with it."""

    @cached_property
    def derived(self) -> dict[str, Any]:
        """Values that other modules computed from the entry, each under a name of its own."""
        return {}

    @property
    def files(self) -> Sequence[Attachment]:
        """The files that the model gets with it."""
        return ()


class _ModelVisible(_Entry):
    """An entry that the model sees."""

    @cached_property
    def approx_tokens(self) -> int:
        """Four bytes per token: accurate enough to stay inside a window with a margin."""
        blocks: list[TextBlock | ThinkingBlock | ToolCallBlock | ImageBlock | FileBlock] = getattr(self, "content", [])
        return 4 + sum(_block_bytes(block) for block in blocks) // 4


class UserEntry(_ModelVisible):
    role: Literal["user"] = "user"
    content: list[TextBlock]
    attachments: list[Attachment] = Field(default_factory=list)
    timestamp: int = 0
    run_id: str | None = None
    message_ids: list[str] = Field(default_factory=list)
    """The accepted messages in this entry; several if they were collected."""
    provenance: str | None = None
    """`steer` if it joined a running turn; otherwise the origin of an internal message."""

    @property
    def files(self) -> Sequence[Attachment]:
        return self.attachments


class AssistantEntry(_ModelVisible):
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


class ToolResultEntry(_ModelVisible):
    role: Literal["toolResult"] = "toolResult"
    tool_call_id: str
    tool_name: str
    content: list[ContentBlock]
    is_error: bool = False
    timestamp: int = 0
    run_id: str | None = None

    @property
    def text(self) -> str:
        return "\n".join(block.text for block in self.content if isinstance(block, TextBlock))

    @cached_property
    def files(self) -> Sequence[ImageBlock | FileBlock]:
        return [block for block in self.content if not isinstance(block, TextBlock)]


class NoticeEntry(_Entry):
    """For people, never for the model: why a turn failed, or that a message was dropped."""

    approx_tokens: ClassVar[int] = 0
    role: Literal["notice"] = "notice"
    text: str
    level: Literal["info", "warning", "error"] = "info"
    timestamp: int = 0
    run_id: str | None = None


class CompactionEntry(_Entry):
    """From here on the model sees a summary instead of older entries, which stay in the log."""

    approx_tokens: ClassVar[int] = 0
    role: Literal["compaction"] = "compaction"
    summary: str
    kept: int = 0
    """How many entries directly before this one the model still sees.

    It counts backwards, so it stays right if the log is read from the middle or copied. If an entry is unreadable,
    the model sees one older entry more, never one less.
    """
    request: str = ""
    """The original wording of the request in progress, if the model no longer sees that message."""
    tokens_before: int = 0
    tokens_after: int = 0
    details: dict[str, Any] = Field(default_factory=dict)
    timestamp: int = 0
    run_id: str | None = None


ModelVisibleEntry = UserEntry | AssistantEntry | ToolResultEntry
"""The entries that are sent to a model."""

TranscriptEntry = ModelVisibleEntry | NoticeEntry | CompactionEntry

_ENTRY: TypeAdapter[TranscriptEntry] = TypeAdapter(
    Annotated[TranscriptEntry, Field(discriminator="role")], config=ConfigDict(defer_build=True)
)


def load_entry(raw: str | bytes) -> TranscriptEntry:
    """Read one stored entry.

    Raises:
        pydantic.ValidationError: the record is damaged, or this version does not know its kind.
        NewerRecord: newer code wrote it.
    """
    check_json_form(raw, "a transcript entry")
    return _ENTRY.validate_json(raw)


def dump_entry(entry: TranscriptEntry) -> str:
    return versioned(model_json(entry, by_alias=True, exclude_none=True, exclude_defaults=False))


def approx_tokens_of(entries: Iterable[TranscriptEntry]) -> int:
    """The approximate tokens of all entries, without a loop in Python: each call asks this of a whole conversation."""
    return sum(map(attrgetter("approx_tokens"), entries))
