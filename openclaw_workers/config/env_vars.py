"""`${VARIABLE}` in the strings of a configuration."""

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
    drops_unset: bool = False
    """Whether a text with an undefined variable is left out, as if it were not given. Otherwise it is a problem."""
    problems: dict[str, str] = field(default_factory=dict)
    """Problems by the path of the setting."""
    unset: dict[Loc, list[str]] = field(default_factory=dict)
    """The undefined variables of each text that was left out."""

    def apply(self, value: Any, loc: Loc = ()) -> Any:
        """Return a copy of the tree with all strings expanded."""
        if isinstance(value, dict):
            pairs = [(key, self.apply(item, (*loc, str(key))), (*loc, str(key))) for key, item in value.items()]
            return {key: item for key, item, at in pairs if at not in self.unset}
        if isinstance(value, list):
            items = [(self.apply(item, (*loc, at)), (*loc, at)) for at, item in enumerate(value)]
            return [item for item, at in items if at not in self.unset]
        if isinstance(value, str) and "${" in value:
            return ExpandedText(_REFERENCE.sub(lambda found: self._replace(found, loc), value))
        return value

    def _replace(self, found: re.Match[str], loc: Loc) -> str:
        escaped, name = found.groups()
        if escaped:
            return found[0][1:]
        if name in self.env:
            return self.env[name]
        if self.drops_unset:
            self.unset.setdefault(loc, []).append(name)
        else:
            self.problems[dotted(loc)] = (
                f"the environment variable {name} is not set; set it, or write $${{{name}}} for the text itself"
            )
        return ""


class ExpandedText(str):
    """A string with a variable's value. The value may be secret, so error messages must not quote it."""

    __slots__ = ()


def references_in(text: str) -> list[str]:
    """The variables that a string refers to."""
    return [name for escaped, name in _REFERENCE.findall(text) if not escaped]


def escape(text: str) -> str:
    """The string that expands to `text`."""
    return text.replace("${", "$${")
