"""The places that this host sees: for each agent, whether the directory with its files is here.

Turns of an agent run only on hosts that see its place. The tick tells Redis what this host sees, and brings the agents
whose wake-ups go to workers that see the place (`routes`); on one machine there are none.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from pathlib import Path

import structlog

from openclaw_workers.place_id import ID, make_place, seen_place, write_place

log = structlog.get_logger(__name__)


class HostPlaces:
    def __init__(self, workspaces: Mapping[str, Path]) -> None:
        """`workspaces`: the directory of each agent whose turns run only where its files are."""
        self._workspaces = workspaces
        self._routes: Mapping[str, str] = {}
        self._known: dict[Path, tuple[str, tuple[int, int]]] = {}
        """Directories whose id was read: the id, and which directory it was."""
        self._lock = threading.Lock()

    def use(self, workspaces: Mapping[str, Path]) -> None:
        """Follow a new version of the configuration."""
        self._workspaces = workspaces

    def is_placed(self, agent_id: str) -> bool:
        return agent_id in self._workspaces

    def seen(self, agent_id: str) -> str | None:
        """The place that this host sees for an agent, "" if it sees none; None if the agent's turns run anywhere."""
        directory = self._workspaces.get(agent_id)
        return None if directory is None else self._look(directory)

    def directory(self, agent_id: str) -> Path:
        """Raises:
        KeyError: the agent's turns run anywhere, or there is no such agent.
        """
        return self._workspaces[agent_id]

    def make(self, agent_id: str) -> str | None:
        """The place of an agent that has none yet; None if it cannot be made, which its turn then reports."""
        directory = self._workspaces[agent_id]
        try:
            place = make_place(directory)
        except OSError as error:
            log.warning("place.not_made", agentId=agent_id, directory=str(directory), error=str(error))
            return None
        # Remembers which directory it is, so that the file can be restored if a command removes it.
        self._look(directory)
        return place

    def all(self) -> dict[str, tuple[str, str]]:
        """For each agent with a place: the place that this host sees for it, and its directory."""
        return {agent: (self._look(directory), str(directory)) for agent, directory in self._workspaces.items()}

    def noticed(self, routes: Mapping[str, str]) -> None:
        """Called with each tick."""
        self._routes = routes

    def route(self, agent_id: str) -> str:
        """The place whose workers get the wake-ups of an agent; "" if any worker of the lane may."""
        return self._routes.get(agent_id, "")

    def elsewhere(self) -> list[str]:
        """The agents whose turns this host cannot run, because it does not see their files."""
        return sorted(filter(self.is_elsewhere, self._routes))

    def is_elsewhere(self, agent_id: str) -> bool:
        """Whether the files of an agent are at a place that this host does not see."""
        place = self.route(agent_id)
        return bool(place) and self.seen(agent_id) != place

    def with_queue(self) -> list[str]:
        """The places that this host sees and whose wake-ups have a queue of their own."""
        return sorted({place for agent, place in self._routes.items() if self.seen(agent) == place})

    def is_of_others(self, place: str) -> bool:
        """Whether other workers may see a place. It is not one of ours, and no move of files."""
        return ID.fullmatch(place) is not None and place not in self.with_queue()

    def _look(self, directory: Path) -> str:
        place = seen_place(directory)
        with self._lock:
            known = self._known.get(directory)
        if place and (known is None or known[0] != place) and (identity := _identity(directory)):
            with self._lock:
                self._known[directory] = (place, identity)
        elif not place and known is not None and known[1] == _identity(directory):
            return self._restore(directory, known[0])
        return place

    def _restore(self, directory: Path, place: str) -> str:
        """The file is gone, and the directory is the same: a command of the agent has removed it (`git clean`)."""
        try:
            write_place(directory, place)
        except OSError as error:
            log.warning("place.not_restored", directory=str(directory), error=str(error))
            return ""
        log.warning("place.restored", directory=str(directory), place=place)
        return seen_place(directory)


def _identity(directory: Path) -> tuple[int, int] | None:
    try:
        found = os.stat(directory)
    except OSError:
        return None
    return found.st_dev, found.st_ino
