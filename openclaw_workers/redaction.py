"""Secrets taken out of texts that are logged, shown or stored."""

from __future__ import annotations

import re
from collections.abc import Iterable

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


def mask_secrets(text: str) -> str:
    """Hide what looks like a secret: API keys, passwords inside URLs and passwords given as a URL option."""
    return _API_KEY.sub(r"\1***", _SECRET_OPTION.sub(r"\1***", _PASSWORD_IN_URL.sub(r"\1***@", text)))


def remove_secrets(text: str, secrets: Iterable[SecretStr | None]) -> str:
    """Hide these very secrets, whatever they look like."""
    for secret in secrets:
        if secret is not None and len(plain := secret.get_secret_value()) >= _SHORTEST:
            text = text.replace(plain, "***")
    return text
