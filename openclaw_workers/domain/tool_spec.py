"""A tool as a model sees it: what `tools` offer and `providers` pass on, known to both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

RAW_ARGUMENTS: Final = "_raw"
"""The one argument of a call whose arguments were not a JSON object: what the model wrote instead."""


@dataclass(frozen=True, slots=True)
class ToolSpec:
    name: str
    description: str
    input_schema: dict[str, Any]
