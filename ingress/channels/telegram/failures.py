"""What a failed call means for a message: it certainly was not sent, or nobody knows."""

from __future__ import annotations

from collections.abc import Awaitable
from datetime import timedelta
from typing import TypeVar

from telegram.error import BadRequest, Forbidden, InvalidToken, NetworkError, RetryAfter, TelegramError

from ingress.channels.adapter import SendLater, SendRefused

T = TypeVar("T")

NEVER_LEFT = ("ConnectError", "ConnectTimeout", "PoolTimeout")
"""Failures of the HTTP client before it has a connection."""


class ChatUnavailable(SendRefused):
    """The chat takes nothing from the bot: it was blocked or removed, or the chat is gone."""


async def or_refused(call: Awaitable[T]) -> T:
    """Carry out a call; an error after which nothing was sent becomes SendLater or SendRefused.

    Raises:
        SendLater, SendRefused: nothing was sent.
        TelegramError: nobody knows.
    """
    try:
        return await call
    except RetryAfter as error:
        raise SendLater(pause_seconds(error), "Telegram asked to send more slowly") from error
    except Forbidden as error:
        raise ChatUnavailable(str(error), permanent=True) from error
    except BadRequest as error:
        kind = ChatUnavailable if "chat not found" in str(error).lower() else SendRefused
        raise kind(str(error), permanent=True) from error
    except InvalidToken as error:
        raise SendRefused(f"Telegram does not know the bot's token ({error})", permanent=False) from error
    except NetworkError as error:
        if type(error.__cause__).__name__ in NEVER_LEFT:
            raise SendRefused(f"Telegram cannot be reached ({error})", permanent=False) from error
        if error.__cause__ is None:  # an answer in Telegram's own form: it did not carry out the call
            raise SendRefused(f"Telegram failed ({error})", permanent=False) from error
        raise


def pause_seconds(error: RetryAfter) -> float:
    """How long Telegram asks to wait."""
    waits = error.retry_after
    return waits.total_seconds() if isinstance(waits, timedelta) else float(waits)


def is_transient(error: TelegramError) -> bool:
    """Whether the same call may succeed later."""
    return isinstance(error, NetworkError | RetryAfter) and not isinstance(error, BadRequest)
