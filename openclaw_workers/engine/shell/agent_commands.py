"""Asks which commands of an agent run in the background, of each state directory where they may."""

from __future__ import annotations

from collections.abc import Sequence

from openclaw_workers.domain.worker_info import WorkerInfo
from openclaw_workers.engine.place_client import PlaceClient, PlaceFailed, PlaceSilent
from openclaw_workers.errors import ConflictError
from openclaw_workers.store.workers import Workers

OPERATION = "running_commands"
MOST_NAMED = 3
ASK_SECONDS = 15.0


class AgentCommands:
    """The background commands of an agent, wherever live workers see its files now."""

    def __init__(self, workers: Workers, client: PlaceClient, agent_id: str) -> None:
        self._client = client
        self._agent_id = agent_id
        seeing = [each.facts for each in workers.all() if _sees(each, agent_id)]
        self._directories = {facts["state"]: facts.get("host", "") for facts in seeing if facts.get("state")}
        """State directories, each with the host of one of its workers."""

    def refuse_running(self) -> None:
        """Raises:
        ConflictError: one is running, or a host does not say; the message names it.
        """
        running = [each for place, host in self._directories.items() for each in self._running_at(place, host)]
        if running:
            more = f" and {len(running) - MOST_NAMED} more" if len(running) > MOST_NAMED else ""
            named = ", ".join(running[:MOST_NAMED]) + more
            raise ConflictError(
                f"agent {self._agent_id} has commands that run in the background: {named}",
                hint="wait until they have ended, let the agent end them, or end them on their host: `kill PROCESS`",
            )

    def _running_at(self, place: str, host: str) -> Sequence[str]:
        try:
            answer = self._client.ask(place, OPERATION, {"agent": self._agent_id}, seconds=ASK_SECONDS)
        except (PlaceSilent, PlaceFailed) as error:
            raise ConflictError(
                f"{host} cannot say whether commands of agent {self._agent_id} run there: its service worker "
                f"{error.message}",
                hint=f"start one on {host} with `ocw up` or `ocw worker --lane service`, or stop the workers there",
            ) from error
        return [str(each) for each in answer["commands"]]


def _sees(worker: WorkerInfo, agent_id: str) -> bool:
    return worker.alive and agent_id not in worker.facts.get("cannot_serve", "").split()
