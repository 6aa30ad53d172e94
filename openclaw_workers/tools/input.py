"""The base class of a tool's arguments."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field


class ToolInput(BaseModel):
    """The arguments of a tool. The model reads the field docstrings as the schema's descriptions."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


def _check_not_blank(value: str) -> str:
    if not value.strip():
        raise ValueError("expected words, not blanks alone")
    return value


NonBlankText = Annotated[str, Field(min_length=1), AfterValidator(_check_not_blank)]
"""A text that is not empty and not only whitespace."""
