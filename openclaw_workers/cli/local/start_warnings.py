"""What `ocw up` warns of once everything runs."""

from __future__ import annotations

import socket

from openclaw_workers.config.loader import Loaded
from openclaw_workers.errors import StoreUnavailable
from openclaw_workers.state_dir import Runtime
from openclaw_workers.store.client import connect
from openclaw_workers.store.keys import Keys
from openclaw_workers.store.server_settings import unsafe_settings
from openclaw_workers.store.workers import Workers


def start_warnings(loaded: Loaded, runtime: Runtime) -> tuple[dict[str, str], list[str]]:
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
