"""A tool as a model sees it. `tools` create these and `providers` send them; neither imports the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

RAW_ARGUMENTS: Final = "_raw"
"""Where a call's arguments were not a JSON object, this one argument holds the text that the model wrote instead."""


@dataclass(frozen=True, slots=True)
class ToolSpec:
    name: str
    description: str
    input_schema: dict[str, Any]
