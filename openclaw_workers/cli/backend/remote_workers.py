"""Orders and questions to workers, through the HTTP API: draining, tools, sandboxes, skills."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import TYPE_CHECKING

from openclaw_workers.cli.backend.protocol import Json
from openclaw_workers.cli.backend.remote_calls import RemoteCalls
from openclaw_workers.remote.address import path_of

if TYPE_CHECKING:
    from openclaw_workers.skills.install import Package


class RemoteWorkers(RemoteCalls):
    def drain(self, name: str) -> Json:
        return self._post("/workers/drain", name=name)

    def undrain(self, name: str) -> Json:
        return self._post("/workers/undrain", name=name)

    def tools(self, session: str, authority: str) -> Json:
        return self._get("/tools", sessionKey=session, authority=authority)

    def tool(self, tool: str, session: str, authority: str) -> Json:
        return self._get(path_of("tools", tool), sessionKey=session, authority=authority)

    def sandbox(self, session: str) -> Json:
        return self._get("/sandbox", sessionKey=session)

    def sandboxes(self) -> Json:
        return self._get("/sandboxes")

    def prune_sandboxes(self, *, everything: bool) -> Json:
        return self._post("/sandboxes/prune", all=everything)

    def skills(self, agent: str | None, *, with_refused: bool) -> Json:
        return self._get("/skills", agentId=agent, all=with_refused)

    def skill(self, name: str, agent: str | None) -> Json:
        return self._get(path_of("skills", name), agentId=agent)

    def skill_check(self, agent: str | None) -> Json:
        return self._get("/skill-check", agentId=agent)

    def new_skill(self, name: str, description: str, agent: str | None, *, shared: bool) -> Json:
        return self._post("/skills", name=name, description=description, agentId=agent, shared=shared)

    def add_skills(self, packages: Sequence[Package], agent: str | None, *, replace: bool) -> Json:
        from openclaw_workers.skills.install import zipped

        # The API takes JSON only.
        packed = base64.b64encode(zipped(packages)).decode()
        return self._post("/skill-packages", data=packed, agentId=agent, replace=replace)

    def begin_move(self, agent: str, to_host: str, *, with_files: bool) -> Json:
        return self._post(path_of("agents", agent, "move"), to=to_host, withFiles=with_files)

    def move_of(self, agent: str) -> Json:
        return self._get(path_of("agents", agent, "move"))

    def move_state(self, move: str) -> Json:
        return self._get(path_of("moves", move))

    def cancel_move(self, agent: str) -> Json:
        return self._request("DELETE", path_of("agents", agent, "move"))

    def machine(self) -> Json:
        return self._get("/machine")

    def clean_up(self, *, is_dry: bool) -> Json:
        return self._post("/session-cleanup", dryRun=is_dry)
