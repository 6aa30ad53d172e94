"""Publishes the configuration file of `ocw up` with its private Redis: at start, and whenever the file changes."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from openclaw_workers.config.changes import changes_between
from openclaw_workers.config.host import Host
from openclaw_workers.config.host_secrets import ENV_FILE
from openclaw_workers.config.publication import draft
from openclaw_workers.engine.fleet_config import configs_of, publish
from openclaw_workers.errors import OpenClawError, StoreUnavailable
from openclaw_workers.store.client import Client, connect

LOOK_SECONDS = 1.0

Stamp = tuple[int, int] | None


class ConfigPublisher:
    def __init__(self, find: Callable[[], Host]) -> None:
        """`find` reads what belongs to this host."""
        self._find = find
        self._seen: object = None
        self._looked_at = 0.0
        self._client: Client | None = None
        self._say: Callable[[str], None] = lambda _: None

    def publish(self, redis_url: str, say: Callable[[str], None]) -> None:
        """Publish the file as it is now.

        Raises:
            ConfigurationError: it is not valid.
            StoreUnavailable: Redis does not answer.
        """
        self._client = connect(redis_url)
        self._say = say
        host = self._find()
        self._seen = _stamps(host)
        self._publish(host)

    def look(self) -> None:
        """Publish the file again if it has changed. A file that is not valid is reported, and changes nothing."""
        if self._client is None or time.monotonic() - self._looked_at < LOOK_SECONDS:
            return
        self._looked_at = time.monotonic()
        try:
            host = self._find()
            if _stamps(host) == self._seen:
                return
            seen = _stamps(host)
            self._publish(host)
            # Only after it was published: while Redis is away, the next look tries again.
            self._seen = seen
        except StoreUnavailable as error:
            self._say(f"config.postponed error={error.message!r}")
        except (OpenClawError, OSError) as error:
            self._report(error)

    def _report(self, error: OpenClawError | OSError) -> None:
        try:
            # A file that is not valid is reported once, and again when somebody changes it.
            self._seen = _stamps(self._find())
        except OpenClawError:
            self._seen = None
        said = " ".join(str(error).split())
        self._say(f"config.not_published error={said!r}; the one before stays in force")

    def _publish(self, host: Host) -> None:
        assert self._client is not None
        configs = configs_of(host, self._client)
        before = configs.current()
        made = draft(host)
        published = publish(configs, made)
        if not published.is_new:
            return
        changes = changes_between(before.document.tree, made.tree) if before else []
        paths = ",".join(change.path for change in changes)
        restart = ",".join(change.path for change in changes if change.needs_restart)
        more = f" changed={paths}" if paths else ""
        more += f" restartNeededFor={restart}" if restart else ""
        self._say(f"config.published version={published.number}{more}")


def _stamps(host: Host) -> tuple[Path | None, Stamp, Stamp]:
    # The variables' file counts too: a setting may refer to one of them.
    return host.source, _stamp(host.source), _stamp(host.state_dir / ENV_FILE)


def _stamp(path: Path | None) -> Stamp:
    try:
        found = path.stat() if path else None
    except OSError:
        return None
    return (found.st_mtime_ns, found.st_size) if found else None
