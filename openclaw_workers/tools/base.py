"""The base class of tools: a name, an effect, a typed input and a `run` method."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any, ClassVar, Generic, Literal, TypeVar

from pydantic import ValidationError

from openclaw_workers.domain.tool_spec import RAW_ARGUMENTS, ToolSpec
from openclaw_workers.domain.transcript import ContentBlock
from openclaw_workers.errors import ToolInputInvalid
from openclaw_workers.tools.context import ToolContext
from openclaw_workers.tools.input import NonBlankText, ToolInput
from openclaw_workers.tools.output_limit import MAX_OUTPUT_BYTES

# A tool imports all that it needs to describe itself from here.
__all__ = [
    "BUILT_IN",
    "Effect",
    "InputT",
    "NonBlankText",
    "Tool",
    "ToolAnswer",
    "ToolContext",
    "ToolInput",
    "ToolSource",
    "TrustedText",
]


class Effect(StrEnum):
    """What recovery may do with a call that was started but has no recorded result."""

    NONE = "none"  # it only reads: run it again
    IDEMPOTENT = "idempotent"  # run it again with the same call id
    ONCE = "once"  # never run it again; tell the model that the outcome is unknown


@dataclass(frozen=True, slots=True)
class ToolSource:
    """Where a tool comes from. Tool policies name it by its groups."""

    kind: Literal["built-in", "plugin", "mcp"] = "built-in"
    name: str = ""
    """The name of the plugin or of the MCP server."""

    @property
    def groups(self) -> tuple[str, ...]:
        """The groups that its tools belong to: all of the kind, and those of this plugin or server."""
        return {"built-in": (), "plugin": ("plugins", self.name), "mcp": ("mcp", self.name)}[self.kind]


BUILT_IN = ToolSource()


class TrustedText(str):
    """An answer that the model may follow, although other answers of the tool are quoted as untrusted."""

    __slots__ = ()


ToolAnswer = str | list[ContentBlock]
"""What a tool returns: text, or content blocks (text, images, files). Files follow the text; `media` stores them."""

InputT = TypeVar("InputT", bound=ToolInput)


class Tool(ABC, Generic[InputT]):
    """The class docstring is the description that the model reads."""

    name: str
    effect: Effect
    input_type: type[InputT]
    groups: tuple[str, ...] = ()
    """The groups of its plugin or MCP server; those of built-in tools are in `policy.names`."""
    owner_only: bool = False
    """Whether only turns that an owner asked for have it."""
    source: ToolSource = BUILT_IN
    batched: ClassVar[bool] = False
    """All calls of one assistant message run together, before its other calls, in one `run_batch`."""
    ends_turn: ClassVar[bool] = False
    """A successful call ends the turn without another model call."""
    max_output_bytes: int = MAX_OUTPUT_BYTES
    """The text of an answer is cut to this size, with a note. Tools with longer results return them in pages."""

    def is_result_untrusted(self, args: InputT) -> bool:
        """Whether the result is third-party text, which the model must see quoted as untrusted."""
        return False

    def is_refusal(self, answer: str) -> bool:
        """Whether the returned text reports a failure; the call then counts as failed."""
        return False

    @abstractmethod
    def run(self, args: InputT, ctx: ToolContext) -> ToolAnswer:
        """Run the call and return the answer for the model.

        Raises:
            ToolError: the call failed; the model reads the message.
        """

    def run_batch(self, calls: Sequence[tuple[InputT, ToolContext]]) -> Sequence[ToolAnswer]:
        """Run several calls of one assistant message as one operation; return one answer per call."""
        return [self.run(args, ctx) for args, ctx in calls]

    def description(self) -> str:
        return " ".join((type(self).__doc__ or "").split())

    def input_schema(self) -> dict[str, Any]:
        """The input as JSON schema, without the titles that pydantic derives from the names: they tell nothing."""
        schema: dict[str, Any] = self.input_type.model_json_schema()
        schema.pop("title", None)
        for each in schema["properties"].values():
            each.pop("title", None)
        return schema

    @cached_property
    def spec(self) -> ToolSpec:
        """The tool as a model sees it; made once."""
        return ToolSpec(self.name, self.description(), self.input_schema())

    def parse(self, arguments: dict[str, Any]) -> InputT:
        """Validate the arguments that a model sent.

        Raises:
            ToolInputInvalid: it names each wrong field and what was expected.
        """
        if RAW_ARGUMENTS in arguments:
            wrote = str(arguments[RAW_ARGUMENTS])[:200]
            raise ToolInputInvalid(f"the arguments for {self.name} were not a JSON object; they began: {wrote}")
        try:
            return self.input_type.model_validate(arguments)
        except ValidationError as error:
            wrong = "; ".join(
                f"{'.'.join(map(str, problem['loc'])) or 'input'}: {problem['msg'].removeprefix('Value error, ')}"
                for problem in error.errors()
            )
            raise ToolInputInvalid(f"{self.name} was called with wrong arguments: {wrong}") from error
