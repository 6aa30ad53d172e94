"""What `ocw init` has to know."""

from __future__ import annotations

import re
from dataclasses import dataclass

from openclaw_workers.config.builtin_models import MODELS
from openclaw_workers.errors import BadInput

OFFLINE = "none"
PROVIDERS = (*MODELS, OFFLINE)
"""The last one needs no key: a small built-in model answers."""

DAILY_LIMIT = 5.0
"""Dollars a day: enough for a day of work, and little enough for a mistake."""

TELEGRAM_VARIABLE = "TELEGRAM_BOT_TOKEN"
_TELEGRAM_TOKEN = re.compile(r"\d+:[A-Za-z0-9_-]{20,}")


@dataclass(frozen=True, slots=True)
class SetupAnswers:
    provider: str
    model: str
    """As provider/model."""
    daily_limit: float | None
    """Dollars; None for no limit."""
    secrets: dict[str, str]
    """What is kept in `.env`: variable to value."""
    with_telegram: bool

    def __repr__(self) -> str:
        """Without the secrets."""
        return f"SetupAnswers({self.model}, {self.daily_limit}, {sorted(self.secrets)})"


def key_variable(provider: str) -> str:
    return f"{provider.upper()}_API_KEY"


def default_model_of(provider: str) -> str:
    """The model that is offered: not the most expensive one."""
    if provider == OFFLINE:
        return "offline/demo"
    return {"anthropic": "anthropic/claude-sonnet-4-6", "openai": "openai/gpt-5"}[provider]


def full_model(provider: str, given: str) -> str:
    """`given`, as provider/model.

    Raises:
        BadInput: it is not a name, or one of another provider, for which there would be no key.
    """
    name = given.strip()
    full = name if "/" in name else f"{provider}/{name}"
    if not re.fullmatch(r"[\w.-]+/[\w./:-]+", full) or (provider != OFFLINE and not full.startswith(f"{provider}/")):
        known = ", ".join(each.id for each in MODELS.get(provider, ()))
        raise BadInput(f"{given!r} is not a model of {provider}", hint=f"such as {known}" if known else None)
    return full


def check_secret(what: str, given: str) -> str:
    """A key or token without the spaces around it.

    Raises:
        BadInput: it is empty or has spaces inside. The message does not quote it.
    """
    value = given.strip()
    if not value or len(value.split()) != 1 or not value.isprintable():
        raise BadInput(f"{what} is empty, or has spaces or line breaks inside", hint="copy it again")
    return value


def check_telegram_token(given: str) -> str:
    token = check_secret("the Telegram token", given)
    if not _TELEGRAM_TOKEN.fullmatch(token):
        raise BadInput(
            "that is not a Telegram token", hint="@BotFather sends it after /newbot; it looks like 123456789:AAE..."
        )
    return token
