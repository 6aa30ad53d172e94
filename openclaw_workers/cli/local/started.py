"""What `ocw up` asks Redis for once everything runs, to print it."""

from __future__ import annotations

import socket

from openclaw_workers.cli.local.ingress import admin_token
from openclaw_workers.config.loader import Loaded
from openclaw_workers.errors import StoreUnavailable
from openclaw_workers.state_dir import Runtime
from openclaw_workers.store.browser_logins import BrowserLogins
from openclaw_workers.store.client import connect
from openclaw_workers.store.keys import Keys
from openclaw_workers.store.server_settings import unsafe_settings
from openclaw_workers.store.tokens import Tokens
from openclaw_workers.store.workers import Workers


def login_url(loaded: Loaded, runtime: Runtime) -> str | None:
    """A link that logs the owner in, once; None if nothing serves, or everybody may use it."""
    if runtime.ingress_url is None or loaded.settings.gateway.auth == "none":
        return None
    client = connect(runtime.redis_url)
    try:
        keys = Keys(loaded.settings.engine.namespace)
        tokens = Tokens(client, keys)
        code = BrowserLogins(client, keys, tokens).login_code(admin_token(loaded.state_dir, tokens))
    except StoreUnavailable:  # the next command that needs Redis reports it
        return None
    finally:
        client.close()
    return f"{runtime.ingress_url}/auth/link?code={code}"


def look_at_start(loaded: Loaded, runtime: Runtime) -> tuple[dict[str, str], list[str]]:
    """Settings of a Redis that somebody else runs which break our promises, and why workers here take no turns."""
    client = connect(runtime.redis_url)
    try:
        engine = loaded.settings.engine
        workers = Workers(client, Keys(engine.namespace), lease_ms=int(engine.lease_seconds * 1000)).all()
        ours = {f"{socket.gethostname()}/{pid}" for pid in runtime.pids.values()}
        refusals = {each.facts.get("refusal", "") for each in workers if each.id.rpartition("/")[0] in ours}
        return unsafe_settings(client), sorted(refusals - {""})
    except StoreUnavailable:  # the next command that needs Redis reports it
        return {}, []
    finally:
        client.close()
