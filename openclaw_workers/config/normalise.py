"""Normalise the keys that a person wrote to the keys of the settings classes."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from openclaw_workers.config.base import KeyedBy, Section
from openclaw_workers.config.schema_tree import Loc, aliases, dotted, item_of, section_of
from openclaw_workers.domain.suggest import nearest

NO_VOICE = "voice and tts are not supported"

SHORTHAND: tuple[tuple[Loc, Loc], ...] = (
    # Deeper paths first: `sandbox.tools` moves before the rest of `sandbox` does.
    (("sandbox", "tools"), ("tools", "sandbox", "tools")),
    (("session", "resetByType", "direct"), ("session", "resetByType", "dm")),
    (("agents", "defaults", "maxConcurrent"), ("lanes", "main", "maxConcurrent")),
    *(
        ((name,), ("agents", "defaults", name))
        for name in (
            "compaction",
            "contextPruning",
            "contextTokens",
            "heartbeat",
            "memorySearch",
            "sandbox",
            "subagents",
            "thinkingDefault",
        )
    ),
    (("providers",), ("models", "providers")),
    (("telegram",), ("channels", "telegram")),
)
"""Alternative places of a block, each with the place where it belongs."""


_SPLIT = frozenset(source[:1] for source, _ in SHORTHAND if len(source) > 1)
"""Blocks of which some parts belong elsewhere."""


def camel(key: str) -> str:
    """Turn `max-spawn-depth` and `max_spawn_depth` into `maxSpawnDepth`."""
    return re.sub(r"(?<=[A-Za-z0-9])[-_]+([A-Za-z0-9])", lambda found: found[1].upper(), key)


@dataclass
class Normaliser:
    """Normalises a tree, and remembers the original paths for error messages."""

    written: dict[Loc, str] = field(default_factory=dict)
    """The path in the file, by the path in the normalised tree."""
    problems: list[str] = field(default_factory=list)
    _moved: dict[Loc, Loc] = field(default_factory=dict)
    _words: set[Loc] = field(default_factory=set)
    """Sections written as a single value, such as `model: offline/demo`."""

    def where(self, loc: Loc) -> str:
        """The path as written in the file."""
        # Validation also reports paths that nobody wrote, so the nearest part that somebody did is shown.
        for length in range(len(loc), 0, -1):
            if loc[:length] in self._words:
                return self.written[loc[:length]]
            if loc[:length] in self.written:
                rest = dotted(loc[length:])
                dot = "." if rest and not rest.startswith("[") else ""
                return self.written[loc[:length]] + dot + rest
        return dotted(loc)

    def apply(self, raw: dict[Any, Any], section: type[Section]) -> dict[str, Any]:
        """Return the normalised tree. This changes `raw`."""
        for source, target in SHORTHAND:
            self._move(raw, source, target)
        tidy: dict[str, Any] = self._section(raw, section, (), ())
        return tidy

    def _move(self, raw: dict[Any, Any], source: Loc, target: Loc) -> None:
        parent, key, written = _find(raw, source)
        if parent is None:
            return
        value = parent.pop(key)
        # An empty block may say something, such as `heartbeat: {}`; one whose parts were moved away does not.
        if value is None or (value == {} and source in _SPLIT):
            return
        holder: Any = raw
        for part in target[:-1]:
            holder = holder.setdefault(_spelled(holder, str(part)), {})
            if not isinstance(holder, dict):
                return  # validation reports the wrong type of that parent
        if _spelled(holder, str(target[-1])) in holder:
            self.problems.append(
                f"{dotted(written)}: also given as {dotted(target)}, which is the same setting; keep one of them"
            )
        else:
            holder[target[-1]] = value
            self._moved[target] = written

    def _section(self, raw: Any, section: type[Section], loc: Loc, written: Loc) -> Any:
        if not isinstance(raw, dict):
            self._words.add(loc)
            return raw
        tidy: dict[str, Any] = {}
        known = aliases(section)
        spellings: dict[str, str] = {}
        for raw_key, value in raw.items():
            key = camel(str(raw_key))
            at = (*written, str(raw_key))
            if key not in known:
                self.problems.append(self._unknown(at, key, section, top=not loc))
            elif key in spellings:
                self.problems.append(f"{dotted(at)}: already given as {spellings[key]}; keep one of them")
            elif value is not None:  # a key without a value keeps the default
                spellings[key] = str(raw_key)
                info = section.model_fields[known[key]]
                place = (*loc, key)
                keyed = next((mark.key for mark in info.metadata if isinstance(mark, KeyedBy)), None)
                tidy[key] = self._value(value, info.annotation, place, self._moved.get(place, at), keyed)
        return tidy

    def _value(self, raw: Any, annotation: Any, loc: Loc, written: Loc, keyed: str | None = None) -> Any:
        self.written[loc] = dotted(written)
        if section := section_of(annotation):
            return self._section(raw, section, loc, written)
        kind, item = item_of(annotation)
        if kind is dict and isinstance(raw, list) and keyed:
            return self._keyed(raw, item, loc, written, keyed)
        if kind is dict and isinstance(raw, dict):
            return {
                str(key): self._value(value, item, (*loc, str(key)), (*written, str(key)))
                for key, value in raw.items()
                if value is not None
            }
        if kind is tuple and isinstance(raw, list):
            return [self._value(value, item, (*loc, at), (*written, at)) for at, value in enumerate(raw)]
        return raw

    def _keyed(self, raw: list[Any], item: Any, loc: Loc, written: Loc, keyed: str) -> dict[str, Any]:
        """Turn a list of mappings that hold their key into a map."""
        tidy: dict[str, Any] = {}
        for at, entry in enumerate(raw):
            place = (*written, at)
            spelled = _spelled(entry, keyed) if isinstance(entry, dict) else ""
            if not isinstance(entry, dict) or entry.get(spelled) is None:
                self.problems.append(f"{dotted(place)}: expected a mapping with {keyed}")
                continue
            key = str(entry[spelled])
            if key in tidy:
                self.problems.append(f"{dotted(place)}: the {keyed} {key} is already listed")
                continue
            rest = {name: value for name, value in entry.items() if name != spelled}
            tidy[key] = self._value(rest, item, (*loc, key), place)
        return tidy

    def _unknown(self, at: Loc, key: str, section: type[Section], *, top: bool) -> str:
        # OpenClaw has these sections; a suggestion of some similar key would mislead.
        if re.match(r"(tts|voice)", key, re.IGNORECASE):
            return f"{dotted(at)}: {NO_VOICE}; remove this key"
        valid = list(aliases(section))
        if top:
            valid += [str(source[0]) for source, _ in SHORTHAND if len(source) == 1]
        lowered = {name.lower(): name for name in valid}
        near = nearest(key.lower(), lowered)
        advice = f"did you mean {lowered[near]!r}?" if near else f"expected one of {', '.join(sorted(valid))}"
        return f"{dotted(at)}: unknown key; {advice}"


def _spelled(mapping: dict[Any, Any], name: str) -> Any:
    """The actual spelling of the key `name` in a mapping; `name` itself if the key is missing."""
    return next((key for key in mapping if camel(str(key)) == name), name)


def _find(raw: dict[Any, Any], path: Loc) -> tuple[dict[Any, Any] | None, Any, Loc]:
    holder: Any = raw
    written: Loc = ()
    for depth, part in enumerate(path):
        key = _spelled(holder, str(part))
        if key not in holder:
            return None, key, written
        written = (*written, str(key))
        if depth == len(path) - 1:
            return holder, key, written
        holder = holder[key]
        if not isinstance(holder, dict):
            return None, key, written
    return None, "", written


def value_at(raw: dict[Any, Any], *path: str) -> Any:
    """The value at a path, however its keys are spelled; None if there is none."""
    parent, key, _ = _find(raw, path)
    return parent[key] if parent is not None else None
