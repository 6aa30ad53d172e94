"""`openclaw.example.yaml`, generated from the settings classes so that it is always up to date."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from pydantic.fields import FieldInfo

from openclaw_workers.config.agents import AgentDefaults, AgentEntry, AgentProfile, AgentSettings
from openclaw_workers.config.base import Section, format_duration
from openclaw_workers.config.channels import TelegramAccountSettings
from openclaw_workers.config.loader import ENVIRONMENT
from openclaw_workers.config.normalise import SHORTHAND
from openclaw_workers.config.schema_tree import dotted, item_of, section_of
from openclaw_workers.config.settings import Settings
from openclaw_workers.field_docs import field_docs

_WIDTH = 110


def example() -> str:
    """Every setting with its default and description. The file is valid and changes nothing."""
    return "\n".join([*_head(), *_section(Settings, Settings(), "")]) + "\n"


def _head() -> Iterator[str]:
    yield "# Every setting of OpenClaw Workers with its default. Save what you change as openclaw.yaml, in the"
    yield "# working directory or the state directory; `ocw config check` lists every problem in it."
    yield "#"
    yield "# Keys may be written as camelCase, snake_case or kebab-case. ${VARIABLE} in a text is replaced from the"
    yield "# environment; $${VARIABLE} stands for itself. These variables win over the file:"
    for variable, loc in ENVIRONMENT.items():
        yield f"#   {variable:<20} {dotted(loc)}"
    yield "#"
    yield "# These blocks may be written in either of two places, but not in both:"
    for source, target in SHORTHAND:
        yield f"#   {dotted(source):<28} for {dotted(target)}"


def _section(section: type[Section], value: Section | None, indent: str) -> Iterator[str]:
    if section is TelegramAccountSettings:
        yield f"{indent}# ... any key of channels.telegram except accounts"
        return
    for name, field in section.model_fields.items():
        if section in (AgentEntry, AgentProfile) and name in AgentSettings.model_fields:
            continue
        yield from _field(section, name, field, value, indent)
    if section in (AgentEntry, AgentProfile):
        yield f"{indent}# ... and any key of agents.defaults except models"


def _field(section: type[Section], name: str, field: FieldInfo, value: Section | None, indent: str) -> Iterator[str]:
    if not indent or section is AgentDefaults:
        yield ""
    for line in textwrap.wrap(field_docs(section).get(name, ""), _WIDTH - len(indent) - 2):
        yield f"{indent}# {line}"
    key = field.alias or name
    kind, item = item_of(field.annotation)
    current = getattr(value, name) if value else field.get_default(call_default_factory=True)
    if isinstance(current, Section):
        yield f"{indent}{key}:"
        yield from _section(type(current), current, indent + "  ")
    elif field.is_required() and (required := section_of(field.annotation)):
        yield f"{indent}{key}:"
        yield from _section(required, None, indent + "  ")
    elif field.is_required():
        yield f"{indent}{key}: ..."
    else:
        dumped = value.model_dump(mode="json", by_alias=True)[key] if value else _plain(current)
        yield f"{indent}{key}: {_scalar(dumped)}"
        inner = section_of(item if kind else field.annotation)
        if inner:
            yield from _template(inner, kind, indent)


def _template(section: type[Section], kind: type | None, indent: str) -> Iterator[str]:
    """A commented-out example of an item of an empty map or list, or of an unset block."""
    if kind:
        yield f"{indent}#   {'<name>:' if kind is dict else '-'}"
    deeper = "    " if kind else "  "
    for line in _section(section, None, ""):
        if line:
            yield f"{indent}# {deeper}{line}"


def _plain(value: Any) -> Any:
    return json.loads(json.dumps(value, default=_text))


def _text(value: Any) -> str:
    return format_duration(value) if isinstance(value, timedelta) else str(value)


def _scalar(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    # Other YAML readers take on and off for booleans.
    if isinstance(value, str) and re.fullmatch(r"[a-z][a-z-]*", value) and value not in ("on", "off", "null"):
        return value
    return json.dumps(value, ensure_ascii=False)
