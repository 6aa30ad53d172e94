"""From the file of one host to a configuration for the whole fleet.

What depends on the host is decided here and stored: the default model, addresses from the environment, the time zone.
Secrets stay on the host.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from openclaw_workers.clock import local_zone
from openclaw_workers.config.base import mask_url
from openclaw_workers.config.cross_checks import mapping_at
from openclaw_workers.config.env_vars import escape
from openclaw_workers.config.host import Host
from openclaw_workers.config.host_secrets import read_secrets
from openclaw_workers.config.loader import (
    ENVIRONMENT,
    LOCAL_VARIABLES,
    SECRET_VARIABLES,
    Loaded,
    load_file,
    load_published,
    put,
)
from openclaw_workers.config.normalise import Normaliser
from openclaw_workers.config.resolve import default_model
from openclaw_workers.config.schema_tree import Loc, dotted
from openclaw_workers.config.secret_references import as_written, holds_secret, texts, with_texts, without_secrets
from openclaw_workers.config.settings import Settings

SCHEMA = 1
"""The form of a published configuration. A program reads its own form and older ones."""

_ZONE_KEYS = ("userTimezone", "timezone", "tz")
_DEFAULT_MODEL: Loc = ("agents", "defaults", "model", "primary")
_DEFAULT_ZONE: Loc = ("agents", "defaults", "userTimezone")


@dataclass(frozen=True, slots=True)
class Draft:
    """A configuration that is ready to be published."""

    tree: dict[str, Any]
    written: str
    """Digest of the file alone, without what was decided: equal on every host that has the same file."""
    decided: dict[str, str]
    """Path of a setting that was decided at publication -> by what."""
    secrets: dict[str, str]
    """Secrets to keep on this host, by the names that refer to them."""
    loaded: Loaded
    """The settings as they will hold on this host."""

    @property
    def digest(self) -> str:
        return digest_of(self.tree)


def draft(host: Host) -> Draft:
    """Make a configuration from the file and the environment of this host.

    Raises:
        ConfigurationError: the file is not valid. A variable that is not set here is no problem.
    """
    here = load_file(host, allows_unset=True)
    tree, written = _file_tree(host)
    decided = _decide_addresses(tree, host.env) | _decide_defaults(tree, here, {**host.env, **_keys_given(tree)})
    tree, secrets = without_secrets(tree, read_secrets(host.state_dir))
    # The secrets are not stored yet; without them this host could not read its own draft.
    known = Host({**secrets, **host.given}, host.state_dir, host.source)
    loaded = load_published(tree, known, version="", decided=decided)
    return Draft(tree, written, decided, secrets, loaded)


def written_digest(host: Host) -> str:
    """Digest of this host's file, to compare with that of a published configuration; "" for one with unknown keys."""
    return _file_tree(host)[1]


def literal_secrets(host: Host) -> list[str]:
    """Paths of secrets that are written out in this host's file.

    Raises:
        ConfigurationError: it cannot be read.
    """
    tree, _ = _file_tree(host)
    return [dotted(loc) for loc, text, is_secret in texts(tree) if holds_secret(text, is_secret=is_secret)]


def digest_of(tree: Mapping[str, Any]) -> str:
    text = json.dumps(tree, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _file_tree(host: Host) -> tuple[dict[str, Any], str]:
    normaliser = Normaliser()
    tree = normaliser.apply(deepcopy(host.tree), Settings)
    # Where Redis is differs from host to host, and whoever reads the published version knows it already.
    tree.pop("redis", None)
    if isinstance(engine := tree.get("engine"), dict):
        engine.pop("namespace", None)
    tree = {key: value for key, value in tree.items() if value != {}}
    return tree, "" if normaliser.problems else digest_of(as_written(tree))


def _decide_addresses(tree: dict[str, Any], env: Mapping[str, str]) -> dict[str, str]:
    """Addresses of the environment become part of the configuration; secrets of it become references."""
    decided: dict[str, str] = {}
    for variable, loc in ENVIRONMENT.items():
        value = env.get(variable)
        if not value or variable in LOCAL_VARIABLES:
            continue
        # An address may contain a password.
        is_secret = variable in SECRET_VARIABLES or mask_url(value) != value
        if put(tree, loc, f"${{{variable}}}" if is_secret else escape(value)):
            decided[dotted(loc)] = f"environment {variable}, at publication"
    return decided


def _keys_given(tree: dict[str, Any]) -> dict[str, str]:
    """Variables of providers that have a key by the configuration, also one that is not set on this host."""
    providers = mapping_at(tree, "models", "providers")
    with_key = [name for name in providers if mapping_at(providers, name).keys() & {"apiKey", "authProfiles"}]
    return {f"{name.upper()}_API_KEY": "given" for name in with_key}


def _decide_defaults(tree: dict[str, Any], here: Loaded, env: Mapping[str, str]) -> dict[str, str]:
    decided: dict[str, str] = {}
    # A model may be written as a text or as a section with `primary`.
    model = mapping_at(tree, *map(str, _DEFAULT_MODEL[:2])).get("model")
    if not isinstance(model, str) and put(tree, _DEFAULT_MODEL, default_model(here.settings, env), only_missing=True):
        decided[dotted(_DEFAULT_MODEL)] = "default, at publication"
    zone = local_zone()
    if put(tree, _DEFAULT_ZONE, zone, only_missing=True):
        decided[dotted(_DEFAULT_ZONE)] = "time zone of the publishing host"

    def name_zone(loc: Loc, text: str, _is_secret: bool) -> str:
        if text != "local" or loc[-1] not in _ZONE_KEYS:
            return text
        decided[dotted(loc)] = "time zone of the publishing host"
        return zone

    named = with_texts(tree, name_zone)
    # In place, because the caller goes on with this object.
    tree.clear()
    tree.update(named)
    return decided
