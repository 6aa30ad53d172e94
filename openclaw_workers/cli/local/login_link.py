"""The link that opens the page in a browser, already logged in."""

from __future__ import annotations

from openclaw_workers.cli.local.ingress import admin_token
from openclaw_workers.config.loader import Loaded
from openclaw_workers.errors import StoreUnavailable
from openclaw_workers.state_dir import Runtime
from openclaw_workers.store.browser_logins import BrowserLogins
from openclaw_workers.store.client import connect
from openclaw_workers.store.keys import Keys
from openclaw_workers.store.tokens import Tokens


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
