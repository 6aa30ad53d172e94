"""The bots that an ingress of `ocw up` receives for, for the banner."""

from __future__ import annotations

import time

from openclaw_workers.config.settings import Settings
from openclaw_workers.errors import StoreUnavailable
from openclaw_workers.queries.channel_answers import configured_accounts
from openclaw_workers.store.channels import Channels
from openclaw_workers.store.client import connect
from openclaw_workers.store.keys import Keys

WAIT_SECONDS = 5.0
LOOK_SECONDS = 0.1


def bot_addresses(settings: Settings, redis_url: str, *, wait_seconds: float = WAIT_SECONDS) -> dict[str, str | None]:
    """Where people find each configured bot; None where its channel has not said so within a few seconds."""
    accounts = [each for each in configured_accounts(settings) if each.enabled and each.has_token]
    found: dict[str, str | None] = {each.name: None for each in accounts}
    if not accounts:
        return found
    client = connect(redis_url)
    channels, deadline = Channels(client, Keys(settings.engine.namespace)), time.monotonic() + wait_seconds
    try:
        while True:
            for each in accounts:
                found[each.name] = channels.facts(each.account).get("address")
            if all(found.values()) or time.monotonic() >= deadline:
                return found
            time.sleep(LOOK_SECONDS)
    except StoreUnavailable:  # the next command that needs Redis reports it
        return found
    finally:
        client.close()
