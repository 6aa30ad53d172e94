"""Finds what a run wrote in the archive of its session, wherever that is: in Redis, here or at another place."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

from openclaw_workers.domain.runs import Run
from openclaw_workers.engine.archives.lines import OPERATION, ArchivedRun, ArchiveLines
from openclaw_workers.engine.place_client import PlaceClient, PlaceFailed, PlaceSilent
from openclaw_workers.errors import NotFound, TransientError
from openclaw_workers.store.archives import Archives, Place

ASK_SECONDS = 15.0


class ArchiveUnreachable(TransientError):
    """The archive is at a place that cannot be asked now; the message names it."""


class ArchiveFinder:
    def __init__(self, archives: Archives, client: PlaceClient, state_dir: Path) -> None:
        self._archives = archives
        self._client = client
        self._local = ArchiveLines(state_dir)

    def lines_of(self, run: Run) -> list[str]:
        """The entries of a run as they are stored; none if no place has an archive of its session.

        Raises:
            ArchiveUnreachable: the place that has it, or may have it, does not answer.
        """
        if run.session_id is None:
            return []
        wanted = ArchivedRun(run.agent_id, run.session_id, run.session_key, run.id)
        return [*self._on_disk(wanted), *self._archives.waiting_lines(wanted.session, wanted.run)]

    def _on_disk(self, wanted: ArchivedRun) -> list[str]:
        try:
            return list(_all(lambda start: self._local.page(wanted, start)))
        except NotFound:
            known = self._archives.place_of(wanted.session)
        # Which place has an archive is remembered for 30 days. After that, all are asked.
        return self._first([known] if known else self._archives.places(), wanted)

    def _first(self, places: Sequence[Place], wanted: ArchivedRun) -> list[str]:
        silent = None
        for place in places:
            try:
                return list(_all(partial(self._page_at, place, wanted)))
            except NotFound:  # never there, or removed because it was older than its retention
                continue
            except ArchiveUnreachable as error:
                silent = error
        if silent is not None:
            raise silent
        return []

    def _page_at(self, place: Place, wanted: ArchivedRun, start: int) -> tuple[list[str], int]:
        try:
            asked = {**asdict(wanted), "start": start}
            answer = self._client.ask(place.id, OPERATION, asked, seconds=ASK_SECONDS)
        except PlaceSilent as error:
            raise ArchiveUnreachable(
                f"the archive is at {place.shown}, where the service worker {error.message}",
                hint="start one there with `ocw up` or `ocw worker --lane service`, and ask again",
            ) from error
        except PlaceFailed as error:
            raise ArchiveUnreachable(f"the archive is at {place.shown}: {error.message}") from error
        return [str(line) for line in answer["lines"]], int(answer["next"])


def _all(page: Callable[[int], tuple[list[str], int]]) -> Iterator[str]:
    start = 0
    while start >= 0:
        lines, start = page(start)
        yield from lines
