"""The versions of the configuration as one worker process uses them."""

from __future__ import annotations

import os
from dataclasses import replace

from openclaw_workers.config.changes import as_started, restart_pending
from openclaw_workers.config.host import Host, find_host
from openclaw_workers.config.required_variables import Variables, variables_of
from openclaw_workers.config.settings import Settings
from openclaw_workers.engine.fleet_config import WITHOUT_SECRETS_VARIABLE, configs_of, load_version
from openclaw_workers.engine.worker.config_follower import Following
from openclaw_workers.store.client import Client
from openclaw_workers.store.configs import ConfigVersion
from openclaw_workers.tasks.settings import host, started_with


def without_secrets() -> list[str]:
    """The secrets that this worker may lack."""
    return [name for name in os.environ.get(WITHOUT_SECRETS_VARIABLE, "").split(",") if name]


def first_configuration() -> Following:
    """What a worker starts with."""
    return Following(started_with().loaded, _variables(started_with().version, host().as_it_is_now()))


def newest_configuration(client: Client, started: Settings) -> Following | None:
    """The version in force, for a process that started with `started`. Variables of the host are read again.

    Raises:
        ConfigurationError: this version of the program cannot read it.
        StoreUnavailable: Redis does not answer.
    """
    here = find_host()
    version = configs_of(here, client).current()
    if version is None:
        return None
    loaded = load_version(version, here)
    pending = tuple(restart_pending(started, loaded.settings))
    settings = as_started(loaded.settings, started)
    return Following(replace(loaded, settings=settings), _variables(version, here), pending)


def _variables(version: ConfigVersion | None, here: Host) -> Variables:
    return variables_of(version.document.tree, here.env) if version else Variables()
