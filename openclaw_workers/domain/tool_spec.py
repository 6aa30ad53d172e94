"""A tool as a model sees it. `tools` create these and `providers` send them; neither imports the other."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

RAW_ARGUMENTS: Final = "_raw"
"""Where a call's arguments were not a JSON object, this one argument holds the text that the model wrote instead."""


@dataclass(frozen=True)
class ToolSpec:
    """It never changes, so what is derived from it is kept with it: each request carries all of them."""

    name: str
    description: str
    input_schema: dict[str, Any]

    @cached_property
    def text(self) -> str:
        """All of it, to be counted."""
        return f"{self.name} {self.description} {json.dumps(self.input_schema)}"

    @cached_property
    def derived(self) -> dict[str, Any]:
        """What others have computed from it, under names of theirs."""
        return {}
