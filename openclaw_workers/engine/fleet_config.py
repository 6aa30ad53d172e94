"""The configuration that a process uses: the published one, or that of its host's file where none is published.

Three things are the host's own: the address of Redis, the namespace and the state directory.
"""

from __future__ import annotations

import getpass
import os
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from openclaw_workers.clock import now_ms
from openclaw_workers.config.engine import EngineSettings
from openclaw_workers.config.host import Host
from openclaw_workers.config.host_secrets import add_secrets
from openclaw_workers.config.loader import Loaded, check_local, load_file, load_published
from openclaw_workers.config.publication import SCHEMA, Draft, digest_of, draft, written_digest
from openclaw_workers.config.resolve import OFFLINE_MODEL, default_model
from openclaw_workers.errors import ConfigurationError, StoreUnavailable
from openclaw_workers.state_dir import resolve_redis_url
from openclaw_workers.store.client import Client
from openclaw_workers.store.configs import (
    ANY_VERSION,
    NO_VERSION,
    ConfigDocument,
    Configs,
    ConfigVersion,
    Published,
)
from openclaw_workers.store.keys import Keys
from openclaw_workers.version import VERSION

LOCAL_CONFIG_VARIABLE = "OPENCLAW_LOCAL_CONFIG"
"""Passes `--local-config` on to Celery's processes."""

WITHOUT_SECRETS_VARIABLE = "OPENCLAW_WITHOUT_SECRETS"
"""Passes `--without-secret` on to them: names, separated by commas."""

WAIT_SECONDS = 1.0


def redis_url_of(host: Host) -> str:
    """The Redis that holds the fleet's configuration and state.

    Raises:
        NotFound: neither the environment, nor the file, nor a running `ocw up` names one.
        ConfigurationError: the named one is no address of a Redis.
    """
    check_local(host)
    return resolve_redis_url(host)


def namespace_of(host: Host) -> str:
    return host.namespace or str(EngineSettings.model_fields["namespace"].default)


def configs_of(host: Host, client: Client) -> Configs:
    return Configs(client, Keys(namespace_of(host)))


@dataclass(frozen=True, slots=True)
class InForce:
    """The settings of a process, and where they came from."""

    loaded: Loaded
    version: ConfigVersion | None
    """None: those of the file."""
    differs: bool = False
    """Whether this host has a file that says something else."""


def in_force(host: Host, client: Client) -> InForce:
    """The published configuration; that of the file if none is published.

    Raises:
        ConfigurationError: it is not valid, or this version of the program cannot read it.
        StoreUnavailable: Redis does not answer.
    """
    version = configs_of(host, client).current()
    if version is None:
        return InForce(load_file(host, allows_unset=True), None)
    return InForce(load_version(version, host), version, differs(host, version))


def load_version(version: ConfigVersion, host: Host) -> Loaded:
    """The settings of one version, as they hold on this host.

    Raises:
        ConfigurationError: this version of the program cannot read it.
    """
    document = version.document
    if document.schema > SCHEMA:
        problem = f"its form is {document.schema}, and version {VERSION} reads {SCHEMA} and older ones"
        raise unreadable(version, ConfigurationError([problem]))
    try:
        return load_published(document.tree, host.as_it_is_now(), version=version.id, decided=document.decided)
    except ConfigurationError as error:
        raise unreadable(version, error) from error


def unreadable(version: ConfigVersion, error: ConfigurationError) -> ConfigurationError:
    hint = f"it was published by version {version.document.code}; update this host, or run `ocw config rollback`"
    return ConfigurationError(error.problems, source=f"configuration {version.number}", hint=hint)


def differs(host: Host, version: ConfigVersion) -> bool:
    """Whether the host has a file that says something else than what is published."""
    return host.source is not None and written_digest(host) != version.document.written


def unused_model(host: Host, version: ConfigVersion) -> str:
    """The model that this host's keys allow, where the published configuration knew of none; else ""."""
    path = "agents.defaults.model.primary"
    if path not in version.document.decided:
        return ""
    mine = default_model(load_file(host, allows_unset=True).settings, host.env)
    agents = version.document.tree["agents"]["defaults"]["model"]
    return mine if agents["primary"] == OFFLINE_MODEL != mine else ""


def publish(configs: Configs, made: Draft, *, expected: int = ANY_VERSION, note: str = "", by: str = "") -> Published:
    """Publish what was made from a file of this host. Its secrets are kept on this host first.

    `by` says who publishes it; empty: the user of this process.

    Raises:
        StoreUnavailable: Redis does not answer.
        OSError: the secrets cannot be kept.
    """
    add_secrets(made.loaded.state_dir, made.secrets)
    document = ConfigDocument(
        schema=SCHEMA,
        tree=made.tree,
        written=made.written,
        decided=made.decided,
        at=now_ms(),
        by=by or _publisher(),
        code=VERSION,
        note=note,
    )
    return configs.publish(document, made.digest, expected=expected)


def publish_again(configs: Configs, version: ConfigVersion, *, expected: int, by: str = "") -> Published:
    """Make an earlier version the current one, as a version of its own.

    Raises:
        StoreUnavailable: Redis does not answer.
    """
    note = f"rollback to {version.number}"
    document = replace(version.document, at=now_ms(), by=by or _publisher(), code=VERSION, note=note)
    return configs.publish(document, digest_of(document.tree), expected=expected)


def publish_if_none(host: Host, client: Client) -> Published | None:
    """Publish the file of this host if the fleet has no configuration yet; None if it has one.

    Raises:
        ConfigurationError: the file is not valid.
        StoreUnavailable: Redis does not answer.
    """
    if configs_of(host, client).current() is not None:
        return None
    load_file(host)  # whoever starts the fleet has the variables that its file names
    # Of two hosts that start together one publishes, and the other follows it.
    published = publish(configs_of(host, client), draft(host), expected=NO_VERSION)
    return None if published.is_refused else published


def wait_for_redis(host: Host, client: Client, on_wait: Callable[[str], object]) -> None:
    """Return once Redis answers; until then, `on_wait` is told each new reason. The configuration is there."""
    configs = configs_of(host, client)
    reported = ""
    while True:
        try:
            configs.current()
        except StoreUnavailable as error:
            if error.message != reported:
                on_wait(error.message)
            reported = error.message
            time.sleep(WAIT_SECONDS)
        else:
            return


def _publisher() -> str:
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # the user of a container may have no name
        user = str(os.getuid())
    return f"{user}@{socket.gethostname()}"
