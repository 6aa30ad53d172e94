"""The configuration of each agent, resolved once for each set of overrides."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from openclaw_workers.config.agents import AgentSettings
from openclaw_workers.config.resolve import AgentConfig, Overrides, resolve_agent, workspace_dir
from openclaw_workers.config.settings import Settings
from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.domain.session_key import agent_of
from openclaw_workers.errors import NotFound

NOTHING = Overrides()
NO_LIMIT_MS = 7 * 86_400_000


class AgentConfigs:
    def __init__(self, settings: Settings, state_dir: Path, *, default_model: str) -> None:
        self._settings = settings
        self._state_dir = state_dir
        self._default_model = default_model
        self._resolved = lru_cache(maxsize=1024)(self._resolve)
        self._workspaces = lru_cache(maxsize=1024)(self._find_workspace)

    def resolve(self, agent_id: str, session: Overrides = NOTHING, call: Overrides = NOTHING) -> AgentConfig:
        """The agent as a session and a message want it.

        Raises:
            NotFound: there is no such agent.
        """
        return self._resolved(agent_id, session, call)

    def workspace(self, agent_id: str, session: Overrides = NOTHING, call: Overrides = NOTHING) -> Path:
        return self._workspaces(agent_id, session, call)

    def of_session(self, session: SessionKey) -> AgentSettings:
        """The settings of a session's agent; the defaults if the agent was removed from the configuration.

        Preparing the turn reports the missing agent, once a worker owns the run.
        """
        try:
            return self.resolve(agent_of(session))
        except NotFound:
            return self._settings.agents.defaults

    def run_time_ms(self, session: SessionKey) -> int:
        """How long a run of this session may take, counted from when a worker first takes it."""
        return self.of_session(session).timeout_seconds * 1000 or NO_LIMIT_MS

    def _resolve(self, agent_id: str, session: Overrides, call: Overrides) -> AgentConfig:
        return resolve_agent(
            self._settings, agent_id, session_overrides=session, call=call, default_model=self._default_model
        )

    def _find_workspace(self, agent_id: str, session: Overrides, call: Overrides) -> Path:
        agent = self.resolve(agent_id, session, call)
        return agent.workspace.path or workspace_dir(self._settings, agent.id, self._state_dir)
