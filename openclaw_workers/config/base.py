"""The building blocks of the settings: the section base class and the value types."""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    PlainSerializer,
    SecretStr,
    StringConstraints,
    ValidationInfo,
)
from pydantic.alias_generators import to_camel

from openclaw_workers.config.redis_options import check_redis_options
from openclaw_workers.domain import limits
from openclaw_workers.field_docs import DocumentedModel


class Section(DocumentedModel):
    """A mapping in the file. `ocw config example` and `schema` print the field docstrings."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        populate_by_name=True,
        allow_inf_nan=False,
        # Building all validators takes long, and most commands use few sections.
        defer_build=True,
    )


class KeyedBy:
    """Marks a map that may also be written as a list whose items hold their key in this field."""

    def __init__(self, key: str) -> None:
        self.key = key


def _as_list(value: object) -> object:
    return [value] if isinstance(value, str) else value


WEEK_SECONDS = limits.WEEK_SECONDS

MAX_DURATION_SECONDS = 3650 * 86_400
"""A duration above ten years is a typing error, and it would overflow later calculations."""

_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_BYTES = {"b": 1, "kb": 1 << 10, "mb": 1 << 20, "gb": 1 << 30}


def _parse_duration(value: object) -> timedelta:
    if isinstance(value, timedelta):
        return value
    if isinstance(value, str) and re.fullmatch(r"(\d+(\.\d+)?(ms|s|m|h|d))+", value):
        parts = re.findall(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)", value)
        seconds = sum(float(count) * _SECONDS[unit] for count, unit in parts)
        if seconds > MAX_DURATION_SECONDS:
            raise ValueError("expected at most ten years")
        return timedelta(seconds=seconds)
    raise ValueError('expected a duration with its unit, such as "90s", "30m" or "1h"')


def format_duration(value: timedelta) -> str:
    """Format a duration exactly, with the largest unit that fits: `30m`, not `1800s`."""
    milliseconds = round(value.total_seconds() * 1000)
    for unit in ("d", "h", "m", "s"):
        if milliseconds and milliseconds % round(_SECONDS[unit] * 1000) == 0:
            return f"{milliseconds // round(_SECONDS[unit] * 1000)}{unit}"
    return f"{milliseconds}ms" if milliseconds else "0s"


def _parse_bytes(value: object) -> int:
    # In Python, true and false are integers.
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    if isinstance(value, str) and (found := re.fullmatch(r"(\d{1,9}(?:\.\d+)?) *([kmg]?b)", value.lower())):
        return int(float(found[1]) * _BYTES[found[2]])
    raise ValueError('expected a size such as 4096, "500kb" or "2mb" (1 mb = 1024 kb)')


def _format_bytes(value: int) -> int | str:
    for unit in ("gb", "mb", "kb"):
        if value and value % _BYTES[unit] == 0:
            return f"{value // _BYTES[unit]}{unit}"
    return value


def _check_timezone(*words: str) -> AfterValidator:
    def check(value: str) -> str:
        if value in words:
            return value
        try:
            ZoneInfo(value)
        # ValueError: a name that is no key at all, such as a path.
        except (ZoneInfoNotFoundError, ValueError) as error:
            raise ValueError(f"expected {', '.join(words)} or a name such as Europe/Berlin") from error
        return value

    return AfterValidator(check)


def _check_time(value: str) -> str:
    if not re.fullmatch(r"([01]\d|2[0-3]):[0-5]\d|24:00", value):
        raise ValueError("expected a time of day as HH:MM, from 00:00 to 24:00")
    return value


def _check_not_blank(value: object) -> object:
    if isinstance(value, str) and not value.strip():
        raise ValueError("expected a path; leave the key out to use the default")
    return value


def _check_path(value: Path, info: ValidationInfo) -> Path:
    """Expand `~` and make the path absolute, relative to the directory of the configuration file."""
    context: dict[str, Any] = info.context or {}
    if any(ord(character) < 32 for character in str(value)):
        raise ValueError("expected a path without control characters")
    home = str(context.get("home") or Path.home())
    if value.parts[:1] == ("~",):
        value = Path(home, *value.parts[1:])
    elif str(value).startswith("~"):
        raise ValueError("expected ~/ or a full path; ~user is not supported, and ./~ is a plain name")
    path = Path(os.path.normpath(Path(context.get("base_dir") or Path.cwd()) / value))
    if path.resolve() == Path(path.anchor):
        raise ValueError("expected a directory below the filesystem root, not the root itself")
    return path


def _check_model(value: str, info: ValidationInfo) -> str:
    aliases = (info.context or {}).get("aliases")
    if aliases is None or value.lower() in aliases:
        return value
    if aliases and "/" not in value:
        raise ValueError(f"expected provider/model or one of the aliases {', '.join(sorted(aliases))}")
    return _check_full_model(value, info)


def _check_full_model(value: str, info: ValidationInfo) -> str:
    """Check against the providers in the validation context, and their models where the list is complete."""
    context: dict[str, Any] = info.context or {}
    provider, _, model = value.partition("/")
    if not (provider and model):
        raise ValueError("expected provider/model, such as offline/demo")
    providers: dict[str, Collection[str] | None] | None = context.get("providers")
    if providers is None:
        return value
    if provider not in providers:
        raise ValueError(f"expected a model of one of the providers {', '.join(sorted(providers))}")
    if (models := providers[provider]) is not None and model not in models:
        raise ValueError(f"expected one of the models {', '.join(f'{provider}/{each}' for each in models)}")
    return value


def _check_base_url(value: str) -> str:
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("expected an address that starts with http:// or https://")
    if parts.username or parts.password:
        raise ValueError("expected an address without a password; put it into apiKey or headers")
    return value.rstrip("/")


_SECRET_OPTION = re.compile(r"(?<=[?&])([^=&#]*(?:pass|key|token|secret)[^=&#]*)=[^&#]*", re.IGNORECASE)


def mask_url(url: str) -> str:
    """Hide the password of a URL, also one given as `?password=` or `?api_key=`."""
    return _SECRET_OPTION.sub(r"\1=***", re.sub(r"(?<=://)([^/@]*):[^/]*@", r"\1:***@", url))


class SecretUrl(SecretStr):
    """A URL that may contain a password; it prints with the password hidden."""

    def _display(self) -> str:
        return mask_url(self.get_secret_value())


_ESCAPES = "in a password write / as %2F, @ as %40 and : as %3A"


def _check_scheme(*schemes: str) -> AfterValidator:
    def check(value: SecretUrl) -> SecretUrl:
        parts = urlsplit(value.get_secret_value())
        if parts.scheme not in schemes:
            raise ValueError(f"expected an address that starts with {' or '.join(f'{s}://' for s in schemes)}")
        try:
            _ = parts.port
        except ValueError as error:
            # The message must not quote the port: a slash in the password ends the host, and then the "port" is a
            # piece of the password.
            raise ValueError(f"expected a port from 0 to 65535; {_ESCAPES}") from error
        if "@" in parts.path and parts.scheme != "unix":  # the same mistake, where that piece looks like a port
            raise ValueError(f"expected no @ after the first /; {_ESCAPES}")
        return value

    return AfterValidator(check)


def _check_redis_options(value: SecretUrl) -> SecretUrl:
    check_redis_options(value.get_secret_value())
    return value


Secret = Annotated[SecretStr, PlainSerializer(lambda _: "***", return_type=str)]
_masked = PlainSerializer(lambda value: mask_url(value.get_secret_value()), return_type=str)
RedisUrl = Annotated[SecretUrl, _check_scheme("redis", "rediss", "unix"), AfterValidator(_check_redis_options), _masked]
QdrantUrl = Annotated[SecretUrl, _check_scheme("http", "https"), _masked]
BaseUrl = Annotated[str, AfterValidator(_check_base_url), PlainSerializer(mask_url, return_type=str)]

Duration = Annotated[
    timedelta,
    BeforeValidator(_parse_duration, json_schema_input_type=str),
    PlainSerializer(format_duration, return_type=str),
]
Bytes = Annotated[
    int,
    BeforeValidator(_parse_bytes, json_schema_input_type=int | str),
    PlainSerializer(_format_bytes, return_type=int | str),
]
UserPath = Annotated[Path, BeforeValidator(_check_not_blank, json_schema_input_type=str), AfterValidator(_check_path)]
TimeZone = Annotated[str, _check_timezone("local")]
HoursTimeZone = Annotated[str, _check_timezone("user", "local")]
"""`user` refers to userTimezone, which therefore cannot be `user` itself."""

TimeOfDay = Annotated[str, AfterValidator(_check_time)]

AgentId = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_-]{0,63}$")]
ModelRef = Annotated[str, StringConstraints(min_length=1, pattern=r"^\S+$"), AfterValidator(_check_model)]
"""provider/model or an alias."""

FullModelRef = Annotated[str, StringConstraints(min_length=1, pattern=r"^\S+$"), AfterValidator(_check_full_model)]
Names = Annotated[tuple[str, ...], BeforeValidator(_as_list, json_schema_input_type=str | list[str])]
Thinking = Literal["off", "minimal", "low", "medium", "high", "xhigh"]
PromptMode = Literal["full", "minimal", "none"]


def _number_to_text(value: object) -> object:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


PeerId = Annotated[str, BeforeValidator(_number_to_text, json_schema_input_type=str | int)]
"""A chat or user id; YAML reads an unquoted one as a number."""

PeerIds = Annotated[tuple[PeerId, ...], BeforeValidator(_as_list, json_schema_input_type=list[str | int])]
