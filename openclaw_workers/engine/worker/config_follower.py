"""Follows the fleet's configuration in one worker process, and decides whether it may take turns.

The ticker says which version is in force and which secrets live workers have. A new version is loaded in a thread of
its own: loading the SDK of a new model takes seconds, and the ticker must renew leases meanwhile.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from dataclasses import dataclass

import structlog

from openclaw_workers.config.loader import Loaded
from openclaw_workers.config.required_variables import Variables
from openclaw_workers.errors import OpenClawError, StoreUnavailable
from openclaw_workers.version import VERSION

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Following:
    """A version as this process uses it."""

    loaded: Loaded
    variables: Variables
    restart: tuple[str, ...] = ()
    """Settings that wait for a restart."""


class ConfigFollower:
    """`noticed` is called with each tick; everything else may be asked from any thread."""

    def __init__(
        self,
        current: Following,
        *,
        load: Callable[[], Following | None],
        use: Callable[[Following], None],
        turn_away: Callable[[str], None],
        without: Collection[str] = (),
        is_local: bool = False,
    ) -> None:
        """`load` reads the version in force, `use` switches to it; `turn_away` gets why no turns are taken, or "".

        `without` names secrets that this worker may lack. `is_local`: use the file whatever is published.
        """
        self._current = current
        self._load = load
        self._use = use
        self._turn_away = turn_away
        self._without = frozenset(without)
        self._is_local = is_local
        self._wanted = current.loaded.version
        self._problem = ""
        self._held_by_fleet: frozenset[str] = frozenset()
        self._refusal = ""
        self._lock = threading.Lock()
        self._loading: threading.Thread | None = None

    @property
    def refusal(self) -> str:
        """Why this worker takes no turns; empty if it does."""
        return self._refusal

    def secrets(self) -> list[str]:
        return sorted(self._current.variables.held)

    def facts(self) -> dict[str, str]:
        """What `ocw status` shows of the configuration of a worker."""
        return {
            "config": "local" if self._is_local else self._current.loaded.version,
            "code": VERSION,
            "missing": " ".join(sorted(self._missing())),
            "refusal": self._refusal,
            "restart": " ".join(self._current.restart),
        }

    def noticed(self, version: str, held_by_fleet: frozenset[str]) -> None:
        self._held_by_fleet = held_by_fleet
        # An empty one was lost with Redis' data: this process goes on with what it has.
        if version and version != self._wanted and not self._is_local:
            self._start_loading(version)
        self._judge()

    def join(self) -> None:
        """Wait until a version that is being loaded is in use."""
        if self._loading is not None:
            self._loading.join()

    def _missing(self) -> frozenset[str]:
        variables = self._current.variables
        return variables.missing_secrets | variables.missing_values | (variables.unused & self._held_by_fleet)

    def _start_loading(self, version: str) -> None:
        with self._lock:
            if self._loading is not None and self._loading.is_alive():
                return  # the next tick sees whether that was the newest
            self._loading = threading.Thread(target=self._follow, args=(version,), name="ocw-config", daemon=True)
            self._loading.start()

    def _follow(self, version: str) -> None:
        try:
            found = self._load()
            if found is None:
                return
            self._use(found)
        except StoreUnavailable as error:
            log.debug("config.postponed", error=error.message)  # the next tick tries again
            return
        except OpenClawError as error:
            self._problem = f"it cannot read configuration {version.partition('-')[0]}"
            # Not tried again with each tick: the same version would fail alike.
            self._wanted = version
            log.error("config.unreadable", version=version, error=error.message, hint=error.hint)
        else:
            self._current, self._wanted, self._problem = found, found.loaded.version, ""
            log.info("config.used", version=found.loaded.version, restartPending=list(found.restart))
        self._judge()

    def _judge(self) -> None:
        """Decide whether this worker takes turns, and say so once when it changes."""
        with self._lock:
            reason = self._reason()
            if reason == self._refusal:
                changed = False
            else:
                changed, self._refusal = True, reason
        if changed and reason:
            log.error("worker.takes_no_turns", why=reason)
        elif changed:
            log.info("worker.takes_turns")
        if changed or reason:
            self._turn_away(reason)

    def _reason(self) -> str:
        variables = self._current.variables
        if self._problem:
            return self._problem
        if values := variables.missing_values:
            return f"variables are not set on this host: {', '.join(sorted(values))}"
        lacked = ((variables.missing_secrets | variables.unused) & self._held_by_fleet) - self._without
        if lacked:
            return f"it lacks secrets that other workers have: {', '.join(sorted(lacked))}"
        return ""
