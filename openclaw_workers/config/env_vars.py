"""`${VARIABLE}` in the strings of a configuration file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from openclaw_workers.config.schema_tree import Loc, dotted

_REFERENCE = re.compile(r"(\$?)\$\{([A-Za-z_]\w*)\}")


@dataclass
class EnvExpansion:
    """Replaces references; `$${NAME}` stands for the text `${NAME}` itself."""

    env: Mapping[str, str]
    problems: dict[str, str] = field(default_factory=dict)
    """Problems by the path of the setting."""

    def apply(self, value: Any, loc: Loc = ()) -> Any:
        """Return a copy of the tree with all strings expanded; undefined variables become problems."""
        if isinstance(value, dict):
            return {key: self.apply(item, (*loc, str(key))) for key, item in value.items()}
        if isinstance(value, list):
            return [self.apply(item, (*loc, at)) for at, item in enumerate(value)]
        if isinstance(value, str) and "${" in value:
            return ExpandedText(_REFERENCE.sub(lambda found: self._replace(found, loc), value))
        return value

    def _replace(self, found: re.Match[str], loc: Loc) -> str:
        escaped, name = found.groups()
        if escaped:
            return found[0][1:]
        if name not in self.env:
            self.problems[dotted(loc)] = (
                f"the environment variable {name} is not set; set it, or write $${{{name}}} for the text itself"
            )
            return ""
        return self.env[name]


class ExpandedText(str):
    """A string with a variable's value. The value may be secret, so error messages must not quote it."""

    __slots__ = ()
