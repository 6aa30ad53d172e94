"""The directories in which to look for skills, from the lowest precedence to the highest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from openclaw_workers.skills.skill import Source

BUNDLED = Path(__file__).parent / "bundled"


@dataclass(frozen=True, slots=True)
class Root:
    path: str
    source: Source
    inside: str = ""
    """The workspace that contains it. An agent can write there, so links that lead out of it are not followed."""


@dataclass(frozen=True, slots=True)
class SkillPlaces:
    """Where this host keeps skills."""

    state_dir: Path
    home: Path
    extra: Sequence[Path] = ()
    plugins: Sequence[Path] = ()
    bundled: Path = BUNDLED

    def roots(self, agent_id: str, workspace: Path) -> list[Root]:
        """All places for an agent; of two skills with the same name, the one from the later place is used."""
        agent_dir = self.state_dir / "agents" / agent_id
        inside = str(workspace)
        return [
            *(Root(str(path), Source.EXTRA) for path in self.extra),
            *(Root(str(path), Source.PLUGIN) for path in self.plugins),
            Root(str(self.bundled), Source.BUNDLED),
            Root(str(self.state_dir / "skills"), Source.STATE),
            Root(str(self.home / ".agents" / "skills"), Source.PERSONAL),
            Root(str(agent_dir / "skills"), Source.AGENT),
            Root(str(agent_dir / "agent" / "skills"), Source.AGENT),
            Root(str(workspace / ".agents" / "skills"), Source.WORKSPACE, inside),
            Root(str(workspace / "skills"), Source.WORKSPACE, inside),
        ]
