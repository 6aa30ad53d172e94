"""Secrets that are handed to tools."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import Field, SecretStr, StringConstraints

from openclaw_workers.config.base import Names, Secret, Section

SecretName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,127}$")]


class SecretSettings(Section):
    value: Secret
    """The secret, best as ${VARIABLE}. It is masked wherever it would be shown, stored or logged."""

    tools: Names = Field(default=())
    """Tools that get it, by name, pattern or group:<name>; exec gets it as environment variable. Unset: none."""


def secret_values(section: Any) -> Iterator[str]:
    """Every secret below a section: keys, tokens, passwords."""
    if isinstance(section, SecretStr):
        yield section.get_secret_value()
    elif isinstance(section, Section):
        for name in type(section).model_fields:
            yield from secret_values(getattr(section, name))
    elif isinstance(section, dict):
        for value in section.values():
            yield from secret_values(value)
    elif isinstance(section, list | tuple):
        for value in section:
            yield from secret_values(value)
