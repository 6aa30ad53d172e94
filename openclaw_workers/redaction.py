"""Secrets taken out of texts that are logged, shown or stored."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

from pydantic import SecretStr

_PASSWORD_IN_URL = re.compile(r"(://[^\s:/@]*:)[^\s/]+@")
# `?password=`, `?api_key=` and similar in a URL, and `password=` anywhere. An escaped quote also ends the value,
# because the text may be inside JSON.
_SECRET_OPTION = re.compile(
    r"""([?&][^\s=&#"]*(?:pass|key|token|secret)[^\s=&#"]*=|\bpassword=)(?:\\[^"]|[^\s&#"\\])+""", re.IGNORECASE
)
_API_KEY = re.compile(r"\b(sk-)[\w-]{8,}")
_SHORTEST = 4
"""A shorter value would also match words that are not secret."""


_SHORTEST_KNOWN = 6
MASK = "***"


class _KnownSecrets:
    """The secrets of this process's configuration. They are the same for all its threads."""

    def __init__(self) -> None:
        self._values: frozenset[str] = frozenset()
        self._pattern: re.Pattern[str] | None = None
        self._longest = 0

    def add(self, values: Iterable[str]) -> None:
        new = {form for value in values if len(value) >= _SHORTEST_KNOWN for form in _forms(value)}
        if new <= self._values:
            return
        self._values |= new
        longest_first = sorted(self._values, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, longest_first)))
        self._longest = len(longest_first[0])

    def mask(self, text: str) -> str:
        return self._pattern.sub(MASK, text) if self._pattern else text

    def split(self, text: str) -> tuple[str, str]:
        """What can be shown of a text that goes on, masked, and its end, which may be the beginning of a secret."""
        text = self.mask(text)
        for start in range(max(0, len(text) - self._longest), len(text)):
            if any(value.startswith(text[start:]) for value in self._values):
                return text[:start], text[start:]
        return text, ""

    def split_start(self, text: str) -> tuple[str, str]:
        """The beginning of a text that follows a cut, which may be the end of a secret, and the rest, masked."""
        text = self.mask(text)
        for end in range(min(len(text), self._longest), 0, -1):
            if any(value.endswith(text[:end]) for value in self._values):
                return text[:end], text[end:]
        return "", text


def _forms(value: str) -> set[str]:
    """A secret as it is, and as tools like to print it: in JSON, in a URL, in base64."""
    encoded = base64.b64encode(value.encode()).decode()
    return {value, quote(value, safe=""), encoded, encoded.rstrip("="), value.replace('"', '\\"')}


_known = _KnownSecrets()


def protect(values: Iterable[str]) -> None:
    """Have these values masked from now on, in logs and wherever `mask_known` is called."""
    _known.add(values)


def mask_known(text: str) -> str:
    """Hide the secrets of the configuration. Costs nothing where there are none."""
    return _known.mask(text)


def mask_before_cut(text: str) -> str:
    """Mask a text that was cut at its end. An end that may be the beginning of a secret is left out."""
    return _known.split(text)[0]


def mask_after_cut(text: str) -> str:
    """Mask a text that was cut at its beginning. A beginning that may be the end of a secret is left out."""
    return _known.split_start(text)[1]


class StreamMask:
    """Hides the secrets of the configuration in a text that comes in pieces, also one that lies across two of them."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, piece: str) -> str:
        """What can be shown now. The end is held back while it may be the beginning of a secret."""
        shown, self._held = _known.split(self._held + piece)
        return shown

    def rest(self) -> str:
        """What was held back; the text has ended."""
        held, self._held = self._held, ""
        return held


def mask_known_in_json(value: Any) -> Any:
    match value:
        case str():
            return mask_known(value)
        case dict():
            return {key: mask_known_in_json(each) for key, each in value.items()}
        case list():
            return [mask_known_in_json(each) for each in value]
    return value


def mask_secrets(text: str) -> str:
    """Hide what looks like a secret (API keys, passwords in URLs), and the secrets of the configuration."""
    text = mask_known(text)
    return _API_KEY.sub(r"\1***", _SECRET_OPTION.sub(r"\1***", _PASSWORD_IN_URL.sub(r"\1***@", text)))


def remove_secrets(text: str, secrets: Iterable[SecretStr | None]) -> str:
    """Hide these very secrets, whatever they look like."""
    for secret in secrets:
        if secret is not None and len(plain := secret.get_secret_value()) >= _SHORTEST:
            text = text.replace(plain, "***")
    return text
