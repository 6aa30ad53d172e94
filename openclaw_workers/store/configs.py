"""The fleet's configuration, in versions."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from openclaw_workers.errors import CorruptRecord
from openclaw_workers.store.client import Client, run_script, store_errors
from openclaw_workers.store.keys import Keys

VERSIONS_KEPT = 100
ANY_VERSION = -1
NO_VERSION = 0


@dataclass(frozen=True, slots=True)
class ConfigDocument:
    """A configuration as it is stored. It holds no secrets."""

    schema: int
    """The form of this document."""
    tree: dict[str, Any]
    """The settings by their full paths, with `${VARIABLE}` as written."""
    written: str
    """Digest of the file it was made from."""
    decided: dict[str, str]
    """Settings that were decided at publication -> by what."""
    at: int
    """When it was published (ms)."""
    by: str
    """Who published it: user@host."""
    code: str
    """The version of the program that published it."""
    note: str = ""


@dataclass(frozen=True, slots=True)
class ConfigVersion:
    number: int
    id: str
    """Number and digest: after a loss of data a number may be given again."""
    document: ConfigDocument


@dataclass(frozen=True, slots=True)
class Published:
    number: int
    id: str
    is_new: bool
    """Whether this is a version of its own; otherwise these settings were the current ones already."""
    is_refused: bool = False
    """Whether another version had been published meanwhile."""


class Configs:
    def __init__(self, redis: Client, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys

    def current(self) -> ConfigVersion | None:
        """The version in force; None if none was ever published. One round trip.

        Raises:
            CorruptRecord: it cannot be read.
        """
        with store_errors():
            number, version_id, text = self._redis.hmget(self._keys.config, ["number", "id", "document"])
        return _version(number, version_id, text) if number else None

    def version(self, number: int) -> ConfigVersion | None:
        with store_errors():
            text = self._redis.hget(self._keys.config_versions, str(number))
        return _version(number, str(number), text) if text else None

    def history(self) -> list[ConfigVersion]:
        """All kept versions, newest first."""
        with store_errors():
            found: Any = self._redis.hgetall(self._keys.config_versions)
        return [_version(number, str(number), found[str(number)]) for number in sorted(map(int, found), reverse=True)]

    def publish(self, document: ConfigDocument, digest: str, *, expected: int = ANY_VERSION) -> Published:
        """Make a configuration the current one. `expected` is the version that it replaces."""
        verb, number, version_id = run_script(
            self._redis,
            "config_publish",
            keys={**self._keys.shared("config", "config_versions")},
            args={
                "document": json.dumps(asdict(document), ensure_ascii=False),
                "digest": digest,
                "expected": expected,
                "most": VERSIONS_KEPT,
            },
        )
        return Published(int(number), str(version_id), is_new=verb == "published", is_refused=verb == "conflict")


def _version(number: Any, version_id: Any, text: Any) -> ConfigVersion:
    try:
        found = json.loads(text)
        # A newer program may have added fields.
        known = {name: found[name] for name in ConfigDocument.__slots__ if name in found}
        return ConfigVersion(int(number), str(version_id), ConfigDocument(**known))
    except (TypeError, ValueError) as error:
        raise CorruptRecord(f"configuration {number}", str(error)) from error
