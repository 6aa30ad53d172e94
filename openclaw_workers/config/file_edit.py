"""Change one setting in the text of a YAML file, and leave everything else as it is, comments included."""

from __future__ import annotations

import re
from typing import Any

import yaml

from openclaw_workers.config.files import parse_yaml
from openclaw_workers.config.normalise import camel
from openclaw_workers.config.schema_tree import Loc, dotted
from openclaw_workers.errors import BadInput

STEP = "  "
_PART = re.compile(r'\.?(?:\["(?P<quoted>[^"]+)"\]|\[(?P<at>\d+)\]|(?P<key>[^.\[\]\s"]+))')


def parse_path(text: str) -> Loc:
    """The inverse of `dotted`.

    Raises:
        BadInput: it is not a path.
    """
    found: list[str | int] = []
    at = 0
    while at < len(text):
        part = _PART.match(text, at)
        if part is None or (part[0].startswith(".") and not found):
            raise BadInput(f"{text!r} is not the path of a setting", hint="such as agents.defaults.model.primary")
        found.append(int(part["at"]) if part["at"] else part["quoted"] or part["key"])
        at = part.end()
    if not found:
        raise BadInput("the path of the setting is empty", hint="such as agents.defaults.model.primary")
    return tuple(found)


def set_in_text(text: str, loc: Loc, value: Any) -> str:
    """The text with a setting changed or added.

    Raises:
        BadInput: it cannot be done without touching other settings.
    """
    try:
        changed = _Edit(text).set(loc, value)
        # The text is edited by positions, and YAML can be written in many ways. So the result is read back: it must
        # differ in this setting only.
        is_right = parse_yaml(changed) == _with(parse_yaml(text) or {}, loc, value)
    except (yaml.YAMLError, ValueError, LookupError, RecursionError, TypeError, AttributeError, _Unfit):
        is_right = False
    if not is_right:
        raise BadInput(f"{dotted(loc)} cannot be changed without touching other settings", hint="edit the file")
    return changed


class _Unfit(Exception):
    """The file is written in a way that this module does not change."""


class _Edit:
    def __init__(self, text: str) -> None:
        self._text = text if not text or text.endswith("\n") else f"{text}\n"

    def set(self, loc: Loc, value: Any) -> str:
        root = yaml.compose(self._text, yaml.SafeLoader)
        if root is None:
            return self._text + _block(loc, value, "")
        return self._set(root, loc, value)

    def _set(self, node: yaml.Node, loc: Loc, value: Any) -> str:
        if isinstance(node, yaml.SequenceNode):
            if not isinstance(loc[0], int):
                raise _Unfit
            below = node.value[loc[0]]
            return self._replace(below, value) if len(loc) == 1 else self._set(below, loc[1:], value)
        if not isinstance(node, yaml.MappingNode):
            raise _Unfit
        for key, below in node.value:
            if _is(key, loc[0]):
                if len(loc) == 1:
                    return self._replace(below, value, key)
                if _is_empty(below):
                    return self._fill(key, loc[1:], value)
                return self._set(below, loc[1:], value)
        return self._add(node, loc, value)

    def _replace(self, old: yaml.Node, value: Any, key: yaml.Node | None = None) -> str:
        if _is_empty(old):
            if key is None:
                raise _Unfit
            colon = self._text.index(":", key.end_mark.index) + 1
            return f"{self._text[:colon]} {_flow(value)}{self._text[colon:]}"
        start, end = old.start_mark.index, _end(old)
        if _is_block(old) and key is not None:  # it began on a line of its own
            start = self._text.index(":", key.end_mark.index) + 1
            return f"{self._text[:start]} {_flow(value)}{self._text[end:]}"
        return self._text[:start] + _flow(value) + self._text[end:]

    def _fill(self, key: yaml.Node, loc: Loc, value: Any) -> str:
        """Put settings below a key that has no value."""
        after = self._line_end(self._text.index(":", key.end_mark.index))
        indent = " " * key.start_mark.column + STEP
        return self._text[:after] + _block(loc, value, indent) + self._text[after:]

    def _add(self, node: yaml.MappingNode, loc: Loc, value: Any) -> str:
        if _is_block(node):
            after = self._line_end(_end(node))
            return self._text[:after] + _block(loc, value, " " * node.start_mark.column) + self._text[after:]
        closing = node.end_mark.index - 1
        comma = ", " if node.value else ""
        return f"{self._text[:closing].rstrip()}{comma}{_flow(_nested(loc, value))[1:-1]}{self._text[closing:]}"

    def _line_end(self, at: int) -> int:
        return self._text.index("\n", at) + 1


def _is(key: yaml.Node, wanted: str | int) -> bool:
    return isinstance(key, yaml.ScalarNode) and (key.value == wanted or camel(key.value) == wanted)


def _is_empty(node: yaml.Node) -> bool:
    return isinstance(node, yaml.ScalarNode) and node.start_mark.index == node.end_mark.index


def _is_block(node: yaml.Node) -> bool:
    return isinstance(node, yaml.CollectionNode) and not node.flow_style


def _end(node: yaml.Node) -> int:
    """Where the text of a node ends; a block is said to end where the next thing begins."""
    if not _is_block(node):
        return int(node.end_mark.index)
    last = node.value[-1]
    key, value = last if isinstance(last, tuple) else (None, last)
    return int(key.end_mark.index) + 1 if key is not None and _is_empty(value) else _end(value)


def _flow(value: Any) -> str:
    """A value on one line."""
    # PyYAML breaks long lines, and ends a single value with a line of dots.
    text = yaml.safe_dump(value, default_flow_style=True, width=1_000_000, allow_unicode=True, sort_keys=False)
    return text.removesuffix("...\n").strip()


def _nested(loc: Loc, value: Any) -> Any:
    if not loc:
        return value
    if isinstance(loc[0], int):
        raise _Unfit
    return {loc[0]: _nested(loc[1:], value)}


def _block(loc: Loc, value: Any, indent: str) -> str:
    """The lines of a setting with the sections around it."""
    lines = []
    for depth, key in enumerate(loc):
        if isinstance(key, int):
            raise _Unfit
        last = f" {_flow(value)}" if depth == len(loc) - 1 else ""
        lines.append(f"{indent}{STEP * depth}{_flow(key)}:{last}\n")
    return "".join(lines)


def _with(tree: Any, loc: Loc, value: Any) -> Any:
    """The tree with a value put in, whatever the spelling of its keys."""
    tree = _copy(tree)
    holder = tree
    for depth, part in enumerate(loc):
        if isinstance(holder, list):
            key: Any = part
        else:
            key = next((each for each in holder if str(each) == part or camel(str(each)) == part), part)
        if depth == len(loc) - 1:
            holder[key] = value
        elif isinstance(holder, list) or holder.get(key) is not None:
            holder = holder[key]
        else:
            holder[key] = {}
            holder = holder[key]
    return tree


def _copy(value: Any) -> Any:
    """A copy in which nothing is shared, as it is by an anchor."""
    if isinstance(value, dict):
        return {key: _copy(each) for key, each in value.items()}
    return [_copy(each) for each in value] if isinstance(value, list) else value
