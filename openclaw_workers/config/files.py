"""Parse a configuration file into a tree."""

from __future__ import annotations

import json
import re
from collections.abc import Hashable, Iterable
from pathlib import Path
from typing import Any

import yaml

from openclaw_workers.errors import ConfigurationError


def read_file(path: Path) -> dict[str, Any]:
    """Read a file into a tree of plain values; an empty file is an empty tree.

    Raises:
        ConfigurationError: it cannot be read, or its syntax is wrong; with line and column where known.
    """
    reader = {".yaml": parse_yaml, ".yml": parse_yaml, ".json": _read_json5, ".json5": _read_json5}
    if path.suffix not in reader:
        raise ConfigurationError([f"{path}: expected a name that ends in {', '.join(reader)}"])
    try:
        # Some editors on Windows write a byte order mark.
        tree = reader[path.suffix](path.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError([f"cannot read the file: {error}"], source=str(path)) from error
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f":{mark.line + 1}:{mark.column + 1}" if mark else ""
        what = error.problem or error.context or "not YAML"
        raise ConfigurationError([f"{path.name}{where}: {what}"], source=str(path)) from error
    except _SyntaxProblem as error:
        at = f"{path.name}:{error.line}:{error.column}"
        raise ConfigurationError([f"{at}: {error}"], source=str(path)) from error
    except (yaml.YAMLError, ValueError) as error:
        raise ConfigurationError([f"{path.name}: {error}"], source=str(path)) from error
    if tree is None:
        return {}
    if not isinstance(tree, dict):
        raise ConfigurationError([f"{path.name}: expected a mapping of settings"], source=str(path))
    return tree


class _SyntaxProblem(ValueError):
    """A syntax error with its position."""

    def __init__(self, what: str, line: int, column: int) -> None:
        super().__init__(what)
        self.line = line
        self.column = column


class _Loader(yaml.CSafeLoader):
    """YAML as people mean it: `off`, `18:00` and `+4930123` are text, and a duplicate key is an error.

    YAML 1.1 reads them as false, 1080 and a number without its plus. The resolvers below are those of YAML 1.2,
    except that a leading plus makes text.
    """

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012 (the base class declares it so)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        # PyYAML silently keeps the last of several equal keys.
        seen = set()
        for key_node, _ in node.value:
            if isinstance(key_node, yaml.ScalarNode) and key_node.tag != "tag:yaml.org,2002:merge":
                if key_node.value in seen:
                    raise yaml.constructor.ConstructorError(
                        None, None, f"the key {key_node.value!r} is given twice", key_node.start_mark
                    )
                seen.add(key_node.value)
        return super().construct_mapping(node, deep)


for _tag, _pattern, _first in (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"-?(0|[1-9][0-9]*)", list("-0123456789")),
    ("float", r"-?(\.[0-9]+|[0-9]+\.[0-9]*|[0-9]+(?=[eE]))([eE][-+]?[0-9]+)?", list("-.0123456789")),
    ("merge", r"<<", ["<"]),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(rf"^(?:{_pattern})$"), _first)


def parse_yaml(text: str) -> Any:
    """The plain values of a YAML text, as people mean them."""
    return yaml.load(text, _Loader)  # noqa: S506 (a safe loader: it builds plain values only)


_RELAXED = re.compile(
    # Strings come first, so that // and commas inside them stay.
    r'(?P<string>"(?:[^"\\\n]|\\.)*")'
    r"|(?P<comment>//[^\n]*|/\*.*?\*/)"
    r"|(?P<comma>,(?=(?:\s|//[^\n]*|/\*.*?\*/)*[}\]]))"
    r"|(?P<key>[A-Za-z_$][\w$]*)(?=\s*:)",
    re.DOTALL,
)


def _read_json5(text: str) -> Any:
    """Parse JSON5.

    The json5 package takes 20 ms per kilobyte. Nearly every file is JSON with comments, trailing commas and bare keys.
    Those are rewritten for the standard parser. Everything else, and every error, goes to json5.
    """
    if not text.strip():
        return None
    try:
        return json.loads(_RELAXED.sub(_strict, text), object_pairs_hook=_without_repeats)
    except json.JSONDecodeError:
        return _read_json5_slowly(text)


def _strict(token: re.Match[str]) -> str:
    match token.lastgroup:
        case "comment":
            return " "
        case "comma":
            return ""
        case "key":
            return f'"{token[0]}"'
        case _:
            return token[0]


def _without_repeats(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    pairs = list(pairs)
    tree = dict(pairs)
    if len(tree) != len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"the key {next(key for key in keys if keys.count(key) > 1)!r} is given twice")
    return tree


def _read_json5_slowly(text: str) -> Any:
    import json5  # noqa: PLC0415 (rarely needed, and slow to import)

    try:
        return json5.loads(text, object_pairs_hook=_without_repeats)
    except ValueError as error:
        found = re.fullmatch(r"<string>:(\d+) (.*) at column (\d+)", str(error), re.DOTALL)
        if not found:
            raise
        raise _SyntaxProblem(found[2], int(found[1]), int(found[3])) from error
