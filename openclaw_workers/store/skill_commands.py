"""Slash commands of skills, by agent: workers know the skills, and those who accept messages need their names."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict, ValidationError

from openclaw_workers.domain.skill_command import SkillCommand
from openclaw_workers.domain.stored_json import versioned
from openclaw_workers.store.client import Client, store_errors, write
from openclaw_workers.store.keys import Keys


class _Published(BaseModel):
    model_config = ConfigDict(extra="ignore", defer_build=True)

    commands: tuple[SkillCommand, ...]


class SkillCommands:
    def __init__(self, redis: Client, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys

    def publish(self, agent_id: str, commands: Sequence[SkillCommand]) -> None:
        text = versioned(_Published(commands=tuple(commands)).model_dump_json())
        write(self._redis, (self._keys.skill_commands, "HSET", agent_id, text))

    def of_agent(self, agent_id: str) -> tuple[SkillCommand, ...]:
        with store_errors():
            raw = self._redis.hget(self._keys.skill_commands, agent_id)
        try:
            return _Published.model_validate_json(str(raw)).commands if raw else ()
        except ValidationError:
            return ()  # another version wrote it, and its workers write it again
