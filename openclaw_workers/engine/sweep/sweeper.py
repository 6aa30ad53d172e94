"""The sweep: every worker looks for accepted work that no worker is doing. No leader, no Celery beat."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

import structlog

from openclaw_workers.engine.sweep.due_kind import DueKind
from openclaw_workers.engine.sweep.pace import LEAST_SECONDS, SweepPace
from openclaw_workers.errors import BadInput, CorruptRecord, NewerRecord, StoreFull, StoreUnavailable
from openclaw_workers.store.due import DueItems
from openclaw_workers.store.reader import Reader
from openclaw_workers.store.workers import Workers

log = structlog.get_logger(__name__)

ASK_TO_PRUNE_SECONDS = 600
"""How often a sweeper asks whether it is time to prune; Redis knows when somebody last did."""
SLOW_KINDS_SECONDS = 1.0
"""How long after its start a sweep still begins with items of slow kinds."""
PACED_KINDS_SECONDS = 0.2
"""How long after its start a sweep still begins with items of paced kinds. The others go back to all sweepers."""
PAUSE = 1.0
"""The pause after a paced item, as a multiple of the time that it took: turns of this process are not held up."""


class Sweeper(threading.Thread):
    """Claims due items and gives each to the handler of its kind; `kinds` is the table (engine/worker_graph.py)."""

    def __init__(
        self,
        due: DueItems,
        workers: Workers,
        reader: Reader,
        kinds: Sequence[DueKind],
        *,
        place_id: Callable[[], str],
        wanted: threading.Event,
        pace: SweepPace,
    ) -> None:
        """`place_id` names the state directory; `wanted` is set when something is due before the next sweep."""
        super().__init__(name="ocw-sweeper", daemon=True)
        self._due = due
        self._workers = workers
        self._reader = reader
        self._kinds = kinds
        self._place_id = place_id
        self._wanted = wanted
        self._pace = pace
        self._stopped = False
        self._prune_at = 0.0
        self._unknown: set[str] = set()

    def run(self) -> None:
        while not self._stopped:
            wait = self._pace.until_next(1)
            try:
                wait = self.sweep()
            except StoreUnavailable as error:
                log.debug("sweep.postponed", error=error.message)
            except Exception:
                log.exception("sweep.failed")
            self._wanted.wait(wait)
            self._wanted.clear()

    def use(self, kinds: Sequence[DueKind]) -> None:
        """From the next sweep on, handle items by another table: that of a new version of the configuration."""
        self._kinds = kinds

    def stop(self) -> None:
        self._stopped = True
        self._wanted.set()

    def sweep(self) -> float:
        """Handle what is due; returns the seconds after which to look again."""
        wait_ms, workers, items = self._due.claim(self._place_id(), soon_ms=int(self._pace.soon_seconds * 1000))
        begun = time.monotonic()
        for kind in self._kinds:
            kind.on_sweep()
        given_back = []
        # Slow kinds last: a session that waits must not wait for a slow disk too.
        for item, kind in sorted(self._known(items), key=lambda known: (known[1].is_slow, known[1].is_paced)):
            took = time.monotonic() - begun
            if kind.is_slow and took > SLOW_KINDS_SECONDS:
                break  # the rest is due again when this claim expires
            if kind.is_paced and took > PACED_KINDS_SECONDS:
                given_back.append(item)
                continue
            self._handle_item(item, kind)
            if kind.is_paced:
                time.sleep(PAUSE * (time.monotonic() - begun - took))
        if given_back:
            self._due.give_back(given_back)
        if time.monotonic() >= self._prune_at and not self._workers.prune():
            self._prune_at = time.monotonic() + ASK_TO_PRUNE_SECONDS
        wait = self._pace.until_next(workers)
        return wait if wait_ms < 0 else min(wait, max(LEAST_SECONDS, wait_ms / 1000))

    def _known(self, items: Sequence[str]) -> list[tuple[str, DueKind]]:
        """Each item with its kind. Items of no known kind are left to newer workers: their claim expires."""
        found = []
        for item in items:
            kind = next((kind for kind in self._kinds if item.startswith(kind.prefix)), None)
            if kind is not None:
                found.append((item, kind))
            else:
                self._report_unknown(item)
        return found

    def _report_unknown(self, item: str) -> None:
        """Log once for each kind: the item comes back every few seconds until a newer worker handles it."""
        name = item.partition("|")[0]
        if name not in self._unknown:
            self._unknown.add(name)
            log.warning("due.unknown", item=item, advice="left to a newer worker")

    def _handle_item(self, item: str, kind: DueKind) -> None:
        try:
            kind.handle(item.removeprefix(kind.prefix))
        except (CorruptRecord, BadInput) as error:
            # The item stays due. The quarantine shows a person why, and the other items are handled meanwhile.
            log.error("sweep.unreadable", item=item, error=error.message)
            self._reader.quarantine(item, error.message, "")
        except NewerRecord as error:
            log.warning("sweep.newer", item=item, error=error.message, hint=error.hint)
        except StoreFull as error:
            log.debug("sweep.postponed", item=item, error=error.message)  # only items that add work are refused
        except StoreUnavailable:
            raise
        except Exception:
            # One item that cannot be handled must not stop the others, sweep after sweep.
            log.exception("sweep.failed", item=item)
