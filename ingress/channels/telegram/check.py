"""Whether Telegram knows a bot, for `ocw channels test`."""

from __future__ import annotations

import asyncio
from typing import Any

from telegram.error import InvalidToken, TelegramError

from ingress.channels.telegram.client import TELEGRAM, TelegramClient
from openclaw_workers.config.channels import TelegramAccountSettings
from openclaw_workers.errors import BadInput, TransientError


def check_bot(settings: TelegramAccountSettings) -> dict[str, Any]:
    """What Telegram says about a bot.

    Raises:
        BadInput: Telegram does not know the token.
        TransientError: Telegram cannot be reached.
    """
    return asyncio.run(_check(settings))


async def _check(settings: TelegramAccountSettings) -> dict[str, Any]:
    assert settings.bot_token is not None
    client = TelegramClient(settings.bot_token.get_secret_value(), str(settings.api_root or TELEGRAM))
    try:
        me = await client.me()
        url, pending = await client.webhook()
    except InvalidToken as error:
        hint = "copy it from BotFather again (/mybots, API Token)"
        raise BadInput("Telegram does not know this token", hint=hint) from error
    except TelegramError as error:
        raise TransientError(f"Telegram cannot be reached: {client.shown(error)}", hint="try again later") from error
    finally:
        await client.close()
    return {
        "botName": me.username,
        "botId": me.id,
        "address": me.address,
        "webhookUrl": url or None,
        "pendingUpdates": pending,
    }
