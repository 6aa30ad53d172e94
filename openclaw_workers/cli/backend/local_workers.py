"""Orders and questions to workers: draining, tools, sandboxes, skills; and the machine they share."""

from __future__ import annotations

from collections.abc import Sequence

from openclaw_workers.cli.backend.opened import LocalPart
from openclaw_workers.cli.backend.protocol import Json
from openclaw_workers.engine.sandbox.report import sandboxes_json
from openclaw_workers.queries import skill_answers
from openclaw_workers.queries.drained_workers import drain_answer, undrain_answer
from openclaw_workers.queries.machine_answers import machine_answer
from openclaw_workers.queries.move_answers import begin_move, cancel_move, current_move, move_answer
from openclaw_workers.queries.service_workers import sandbox_answer, tool_answer, tools_answer
from openclaw_workers.queries.sessions import named_key
from openclaw_workers.sandbox.directory import SANDBOXES_DIR, SandboxDirectory
from openclaw_workers.skills.install import Package


class LocalWorkers(LocalPart):
    def drain(self, name: str) -> Json:
        return drain_answer(self._cli.stores.workers, name)

    def undrain(self, name: str) -> Json:
        return undrain_answer(self._cli.stores.workers, name)

    def tools(self, session: str, authority: str) -> Json:
        return tools_answer(self._cli, named_key(self._cli, session), authority, self._cli.celery_waker.tools)

    def tool(self, tool: str, session: str, authority: str) -> Json:
        return tool_answer(self._cli, tool, named_key(self._cli, session), authority, self._cli.celery_waker.tools)

    def sandbox(self, session: str) -> Json:
        return sandbox_answer(self._cli, named_key(self._cli, session), self._cli.celery_waker.sandbox)

    def sandboxes(self) -> Json:
        return sandboxes_json(self._sandbox_directory)

    def prune_sandboxes(self, *, everything: bool) -> Json:
        return {"ok": True, "deleted": self._sandbox_directory.prune(everything=everything)}

    @property
    def _sandbox_directory(self) -> SandboxDirectory:
        return SandboxDirectory(self._cli.loaded.state_dir / SANDBOXES_DIR)

    def skills(self, agent: str | None, *, with_refused: bool) -> Json:
        return skill_answers.skills_answer(self._cli, agent, self._ask_skills, with_refused=with_refused)

    def skill(self, name: str, agent: str | None) -> Json:
        return skill_answers.skill_answer(self._cli, name, agent, self._ask_skills)

    def skill_check(self, agent: str | None) -> Json:
        return skill_answers.skill_check(self._cli, agent, self._ask_skills)

    def _ask_skills(self, agents: Sequence[str], with_text_of: str) -> Json:
        return self._cli.celery_waker.skills(agents, with_text_of)

    def new_skill(self, name: str, description: str, agent: str | None, *, shared: bool) -> Json:
        return skill_answers.new_skill(self._cli, name, description, agent, shared=shared)

    def add_skills(self, packages: Sequence[Package], agent: str | None, *, replace: bool) -> Json:
        return skill_answers.add_skills(self._cli, packages, agent, replace=replace)

    def begin_move(self, agent: str, to_host: str, *, with_files: bool) -> Json:
        return move_answer(self._cli, begin_move(self._cli, agent, to_host, with_files=with_files).id)

    def move_of(self, agent: str) -> Json:
        return move_answer(self._cli, current_move(self._cli, agent).id)

    def move_state(self, move: str) -> Json:
        return move_answer(self._cli, move)

    def cancel_move(self, agent: str) -> Json:
        return move_answer(self._cli, cancel_move(self._cli, agent).id)

    def machine(self) -> Json:
        return machine_answer(self._cli)
