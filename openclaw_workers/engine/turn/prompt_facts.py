"""The facts that an agent's system prompt is written from."""

from __future__ import annotations

import platform
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from openclaw_workers.agent.output.heartbeat_reply import has_tasks
from openclaw_workers.agent.prompt import texts
from openclaw_workers.agent.prompt.host_facts import repo_of
from openclaw_workers.agent.prompt.sections import PromptFacts
from openclaw_workers.agent.prompt.workspace_files import file_names
from openclaw_workers.agent.prompt.workspace_files import load as load_files
from openclaw_workers.clock import zone_name
from openclaw_workers.config.resolve import AgentConfig
from openclaw_workers.domain.channel_group import ChannelGroup
from openclaw_workers.domain.messages import Authority, InboxEntry
from openclaw_workers.domain.tool_spec import ToolSpec
from openclaw_workers.domain.tree import Role
from openclaw_workers.engine.sandbox.sandboxes import SandboxPlan
from openclaw_workers.engine.turn.overrides import Shown
from openclaw_workers.sandbox.box import WORKSPACE
from openclaw_workers.tools.aliases import canonical
from openclaw_workers.tools.files.documentation import PREFIX, docs_dir


@dataclass(frozen=True, slots=True)
class SessionPosition:
    """Where a turn stands: in its tree, on which channel people talk to it, and who asked for it."""

    depth: int
    role: Role
    channel: str = ""
    capabilities: tuple[str, ...] = ()
    """What the channel can do."""
    authority: Authority = Authority.OWNER
    is_private: bool = True
    """An owner asked for it in a direct chat; otherwise private files stay out of the prompt."""
    is_group: bool = False
    """Several people read along."""

    sandbox: SandboxPlan | None = None
    """Where its commands run; None: on the host."""

    group: ChannelGroup | None = None
    """The group whose tool policy applies."""
    is_sandboxed: bool = False
    incompatible_tools: tuple[str, ...] = ()
    """Tools that the channel cannot be used with."""
    only_files: tuple[str, ...] | None = None
    """The only workspace files for the prompt, in a turn with a light context; None in any other."""
    only_tools: frozenset[str] | None = None
    """The only tools, in a turn whose message allows some; None in any other."""

    def file_names(self, agent: AgentConfig, *, in_groups: bool) -> Sequence[str]:
        """The workspace files for the prompt. `in_groups`: the configuration shows groups the private ones too."""
        if self.only_files is not None:
            return self.only_files
        return file_names(
            agent.prompt_mode,
            self.role,
            is_private=self.is_private or (in_groups and self.is_group),
            for_children=agent.subagents.project_files,
        )


def only_files(bound: Sequence[InboxEntry]) -> tuple[str, ...] | None:
    """The workspace files of a turn with a light context: none, or the one that its message names."""
    light = bound[0].metadata.get("lightContext", "") if bound else ""
    return None if not light else () if light == "none" else (light,)


def only_tools(bound: Sequence[InboxEntry]) -> frozenset[str] | None:
    """The tools of a turn whose message allows only some."""
    allowed = bound[0].metadata.get("toolsAllow", "") if bound else ""
    return frozenset(canonical(name) for name in allowed.split(",")) if allowed else None


def prompt_facts(
    agent: AgentConfig,
    position: SessionPosition,
    shown: Shown,
    workspace: Path,
    tools: Sequence[ToolSpec],
    *,
    names: Sequence[str],
    skills: str,
    citations: bool,
    model_aliases: Sequence[tuple[str, str]],
    beats: bool = False,
) -> PromptFacts:
    """`names` are the workspace files for the prompt, `skills` the list of skills; `citations`: whether answers from
    memory name their source.

    `beats`: the configuration makes the agent beat. HEARTBEAT.md does too if it asks for something.
    """
    limits = {"max_chars": agent.bootstrap_max_chars, "total_max_chars": agent.bootstrap_total_max_chars}
    files = load_files(workspace, names, **limits)
    beats = beats or any(file.name == "HEARTBEAT.md" and has_tasks(file.text) for file in files)
    return PromptFacts(
        agent_id=agent.id,
        agent_name=agent.identity.name or agent.name,
        theme=agent.identity.theme or "",
        emoji=agent.identity.emoji or "",
        avatar=agent.identity.avatar or "",
        workspace=Path(WORKSPACE) if position.sandbox else workspace,
        sandbox_access=position.sandbox.access if position.sandbox else None,
        sandbox_network=bool(position.sandbox and position.sandbox.settings.network),
        specs=tools,
        role=position.role,
        mode=agent.prompt_mode,
        skills=skills,
        docs=_documents(),
        owners=agent.identity.owner_numbers,
        model_aliases=model_aliases,
        timezone=zone_name(agent.user_timezone),
        files=files,
        heartbeat=(agent.heartbeat_or_default.prompt or texts.HEARTBEAT_PROMPT) if beats else "",
        citations=citations,
        extra=agent.extra_system_prompt,
        model=agent.primary,
        channel=position.channel,
        capabilities=position.capabilities,
        # A sandboxed session must not learn paths of the host.
        repo="" if position.sandbox else repo_of(workspace),
        thinking=agent.thinking_default,
        reasoning=shown.reasoning,
        verbose=shown.verbose,
        host=socket.gethostname(),
        os=platform.system().lower(),
    )


@lru_cache(maxsize=1)
def _documents() -> tuple[str, ...]:
    docs = docs_dir()
    return tuple(f"{PREFIX}{path.name}" for path in sorted(docs.glob("*.md"))) if docs else ()
