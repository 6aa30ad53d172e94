"""The configuration in requests and answers."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ingress.api.models.answers import Done, Json
from ingress.api.models.inputs import Name
from ingress.api.table import Input


class ConfigQuery(Input):
    prefix: Name = ""
    """Only values below this path."""


class ConfigCheckInput(Input):
    text: str | None = None
    """The text of a configuration file; default: the file that this ingress has loaded."""
    format: Literal["yaml", "json"] = "yaml"


class ApplyInput(ConfigCheckInput):
    dry_run: bool = False
    """Only tell what would change."""


class RollbackInput(Input):
    version: Annotated[int, Field(ge=1, le=10**9)] | None = None
    """Default: the one before the current one."""


class ConfigAnswer(Done):
    version: int | None
    source: str | None
    state_dir: str
    values: list[Json]


class ConfigCheckAnswer(Done):
    source: str | None
    problems: list[str] | None = None


class HistoryAnswer(Done):
    versions: list[Json]


class ApplyAnswer(Done):
    """With `ok` false, only `source` and `problems` say why nothing was published."""

    published: bool | None = None
    """Whether this is a new version."""
    version: int | None = None
    previous: int | None = None
    changes: list[Json] | None = None
    restart: list[str] | None = None
    """Paths of settings that wait for a restart."""
    moved_secrets: list[str] | None = None
    unset: Json | None = None
    """Path to variables that are not set on the machine of the ingress."""
    problems: list[str] | None = None


class RollbackAnswer(ApplyAnswer):
    rolled_back_to: int | None = None
