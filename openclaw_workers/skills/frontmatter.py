"""The frontmatter of a SKILL.md: YAML between two lines of dashes, with a block of metadata that is often JSON."""

from __future__ import annotations

import json
import re
from typing import Any

import yaml

_FENCE = re.compile(r"\A---[ \t]*\n(.*?)^---[ \t]*$", re.S | re.M)
_KEY = re.compile(r"([A-Za-z][\w-]*)[ \t]*:(?:[ \t]+(.*)|[ \t]*)\Z")
_BLOCKS = ("openclaw", "clawdbot", "clawdis", "moltbot")
"""Names of the block of metadata that is meant for us; collections still use the older ones."""
_BLOCK_MARKS = ("|", ">", "|-", ">-", "|+", ">+")


class BadFrontmatter(Exception):
    """The file is not a skill. The message says what is wrong and what was expected."""


def read_frontmatter(text: str) -> dict[str, Any]:
    """The fields at the beginning of a file.

    Raises:
        BadFrontmatter: there are none, or they cannot be read.
    """
    # Files from Windows editors begin with a byte order mark and end lines with CRLF.
    found = _FENCE.match(text.removeprefix("\ufeff").replace("\r\n", "\n"))
    if found is None:
        raise BadFrontmatter("it does not begin with frontmatter; expected name and description between two lines ---")
    raw = found[1]
    try:
        fields = yaml.safe_load(raw)
    except (yaml.YAMLError, RecursionError, ValueError):
        # Collections have descriptions with an unquoted colon, which is no YAML, but plain enough.
        fields = _read_lines(raw)
    if not isinstance(fields, dict):
        raise BadFrontmatter("its frontmatter is not a mapping; expected lines such as `name: weather`")
    return {str(key): value for key, value in fields.items()}


def metadata_block(fields: dict[str, Any]) -> dict[str, Any]:
    """The part of the metadata that is meant for us; empty if there is none.

    Raises:
        BadFrontmatter: it is neither JSON nor a mapping.
    """
    metadata = fields.get("metadata")
    if isinstance(metadata, str):
        metadata = _parse_json(metadata)
    if metadata is None:
        return {}
    if not isinstance(metadata, dict):
        raise BadFrontmatter('its metadata is not a mapping; expected JSON such as {"openclaw": {"emoji": "…"}}')
    block: Any = next((metadata[name] for name in _BLOCKS if name in metadata), {})
    if not isinstance(block, dict):
        raise BadFrontmatter("metadata.openclaw is not a mapping; expected keys such as requires, os and emoji")
    return block


def _parse_json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    try:  # YAML allows what people add to JSON: a last comma, names without quotation marks
        return yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise BadFrontmatter(f"its metadata is not JSON: {str(error).splitlines()[0]}") from error


def _read_lines(raw: str) -> dict[str, Any]:
    """`key: value` lines; indented lines continue the value before them."""
    fields: dict[str, str] = {}
    key = ""
    for line in raw.splitlines():
        found = _KEY.match(line)
        if found and not line[0].isspace():
            key, value = found[1], (found[2] or "").strip()
            fields[key] = "" if value in _BLOCK_MARKS else value
        elif key and line.strip() and not line.lstrip().startswith("#"):
            fields[key] = f"{fields[key]} {line.strip()}".strip()
    return {name: _unquoted(value) for name, value in fields.items()}


def _unquoted(value: str) -> str:
    is_quoted = len(value) >= 2 and value[0] == value[-1] and value[0] in "'\""
    return value[1:-1] if is_quoted else value
