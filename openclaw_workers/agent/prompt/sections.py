"""The system prompt: named parts in a stable order, so that providers can cache it across turns and workers.

Nothing in it depends on the clock. Providers cache only an identical beginning of a request. So the part that differs
between workers comes last and is sent after the conversation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from openclaw_workers.agent.prompt import texts
from openclaw_workers.agent.prompt.workspace_files import ContextFile
from openclaw_workers.config.base import PromptMode
from openclaw_workers.domain.tool_spec import ToolSpec
from openclaw_workers.domain.tree import Role


@dataclass(frozen=True, slots=True)
class PromptPart:
    name: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptFacts:
    """Everything a system prompt is made of. Empty facts are not mentioned."""

    agent_id: str
    agent_name: str
    workspace: Path
    """As the agent's commands see it."""
    specs: Sequence[ToolSpec]
    sandbox_access: str | None = None
    """Access of its sandbox to the workspace: none, ro or rw; None: it is not sandboxed."""
    sandbox_network: bool = False
    theme: str = ""
    """The agent's style, in a few words."""
    emoji: str = ""
    avatar: str = ""
    """URL or path of its picture."""
    role: Role = Role.MAIN
    mode: PromptMode | None = None
    """Unset: minimal for sub-agents, otherwise full."""
    skills: str = ""
    """The list of skills, as <available_skills>."""
    citations: bool = True
    """Whether answers from memory name their source."""
    docs: Sequence[str] = ()
    """Documents that the read tool can open, by their names there."""
    owners: Sequence[str] = ()
    model_aliases: Sequence[tuple[str, str]] = ()
    timezone: str = ""
    files: Sequence[ContextFile] = ()
    heartbeat: str = ""
    """What the agent is asked when it beats; empty if it does not."""
    extra: str = ""
    """Extra instructions from the configuration."""
    model: str = ""
    channel: str = ""
    capabilities: Sequence[str] = ()
    thinking: str = "off"
    reasoning: str = "off"
    verbose: str = "off"
    repo: str = ""
    """The root of the git repository that contains the workspace."""
    host: str = ""
    os: str = ""

    @property
    def tools(self) -> frozenset[str]:
        return frozenset(spec.name for spec in self.specs)

    @property
    def effective_mode(self) -> PromptMode:
        return self.mode or ("full" if self.role is Role.MAIN else "minimal")


def prompt_parts(facts: PromptFacts) -> list[PromptPart]:
    """The parts that apply, in order."""
    if facts.effective_mode == "none":
        named = PromptPart("identity", texts.IDENTITY.format(name=facts.agent_name))
        return [part for part in (named, PromptPart("extra", _extra(facts).strip())) if part.text]
    shown = _FULL if facts.effective_mode == "full" else _MINIMAL
    rendered = ((name, make(facts).strip()) for name, make in _PARTS.items() if name in shown)
    return [PromptPart(name, text) for name, text in rendered if text]


def with_extra(parts: Sequence[PromptPart], text: str, role: Role) -> list[PromptPart]:
    """The same parts plus the extra instructions of one message, after those of the configuration."""
    configured = [part.text for part in parts if part.name == "extra"]
    extra = f"{configured[0]}\n\n{text}" if configured else _titled(text, role)
    # The extra text goes before the varying parts but after all others, whose beginning stays the same for the cache.
    stable = [part for part in parts if part.name not in ("extra", *_VARYING)]
    return [*stable, PromptPart("extra", extra), *(part for part in parts if part.name in _VARYING)]


def for_programs(parts: Sequence[PromptPart]) -> list[PromptPart]:
    """The same parts for a program that has its own tools and cannot call ours."""
    adapted = (PromptPart("tooling", texts.OWN_TOOLS) if part.name == "tooling" else part for part in parts)
    return [part for part in adapted if part.name not in _NEEDS_OUR_TOOLS]


def join(parts: Sequence[PromptPart]) -> str:
    return "\n\n".join(part.text for part in parts)


def split(parts: Sequence[PromptPart]) -> tuple[str, str, str]:
    """Split into what all sessions of an agent share, what depends on the session, and what depends on the worker."""
    stable = [part for part in parts if part.name not in _VARYING]
    session, worker = ([part for part in parts if part.name == name] for name in _VARYING)
    return join(stable), join(session), join(worker)


def _identity(facts: PromptFacts) -> str:
    if facts.role is not Role.MAIN:
        return texts.SUBAGENT
    given = {texts.THEME: facts.theme, texts.EMOJI: facts.emoji, texts.AVATAR: facts.avatar}
    lines = [text.format(value) for text, value in given.items() if value]
    return "\n".join([texts.IDENTITY.format(name=facts.agent_name), *lines])


def _tooling(facts: PromptFacts) -> str:
    if not facts.specs:
        return texts.NO_TOOLS
    lines = [f"- {spec.name}: {_summary(spec)}" for spec in sorted(facts.specs, key=_rank)]
    parts = ["\n".join(["## Tooling", texts.TOOLING, *lines])]
    if "sessions_spawn" in facts.tools:
        parts.append(texts.SPAWNING)
    return "\n\n".join(parts)


_RANKS = {name: rank for rank, name in enumerate(texts.TOOL_SUMMARIES)}


def _rank(spec: ToolSpec) -> tuple[int, str]:
    return _RANKS.get(spec.name, len(_RANKS)), spec.name


def _summary(spec: ToolSpec) -> str:
    return texts.TOOL_SUMMARIES.get(spec.name) or spec.description.partition(". ")[0].rstrip(".")


def _skills(facts: PromptFacts) -> str:
    # A skill is a file: without the read tool the list is useless.
    return f"{texts.SKILLS}\n{facts.skills}" if facts.skills.strip() and "read" in facts.tools else ""


def _memory(facts: PromptFacts) -> str:
    if not facts.tools & {"memory_search", "memory_get"}:
        return ""
    remember = [texts.REMEMBER] if "memory_write" in facts.tools else []
    return "\n".join([texts.MEMORY, texts.CITE if facts.citations else texts.DO_NOT_CITE, *remember])


def _workspace(facts: PromptFacts) -> str:
    if facts.sandbox_access is None:
        return texts.WORKSPACE.format(workspace=facts.workspace)
    access = texts.SANDBOX_ACCESS[facts.sandbox_access]
    network = "" if facts.sandbox_network else texts.SANDBOX_WITHOUT_NETWORK
    return texts.SANDBOXED_WORKSPACE.format(workspace=facts.workspace, access=access, network=network)


def _documentation(facts: PromptFacts) -> str:
    return texts.DOCUMENTATION.format(docs=", ".join(facts.docs)) if facts.docs and "read" in facts.tools else ""


def _owners(facts: PromptFacts) -> str:
    return f"{texts.OWNERS}\n{', '.join(facts.owners)}" if facts.owners else ""


def _models(facts: PromptFacts) -> str:
    lines = [f"- {alias}: {model}" for alias, model in facts.model_aliases]
    return "\n".join([texts.MODELS, *lines]) if lines else ""


def _time(facts: PromptFacts) -> str:
    return texts.TIME.format(zone=facts.timezone) if facts.timezone else ""


def _project(facts: PromptFacts) -> str:
    if not facts.files:
        return ""
    soul = [texts.SOUL] if any(file.name.lower() == "soul.md" for file in facts.files) else []
    files = [f"## {file.name}\n\n{file.text}" for file in facts.files]
    return "\n\n".join([texts.PROJECT_HEADING, texts.PROJECT, *soul, *files])


def _heartbeats(facts: PromptFacts) -> str:
    return texts.HEARTBEATS.format(prompt=facts.heartbeat) if facts.heartbeat and facts.role is Role.MAIN else ""


def _extra(facts: PromptFacts) -> str:
    return _titled(facts.extra, facts.role) if facts.extra.strip() else ""


def _titled(extra: str, role: Role) -> str:
    return f"{texts.EXTRA_HEADING if role is Role.MAIN else texts.SUBAGENT_EXTRA_HEADING}\n{extra}"


def _runtime(facts: PromptFacts) -> str:
    values = {
        "agent": facts.agent_id,
        "model": facts.model,
        "channel": facts.channel,
        "capabilities": (",".join(facts.capabilities) or "none") if facts.channel else "",
        "thinking": facts.thinking,
        "reasoning": facts.reasoning,
        "verbose": facts.verbose,
        "repo": facts.repo,
    }
    shown = [texts.REASONING_SHOWN] if facts.reasoning != "off" else []
    return "\n".join(["## Runtime", *shown, f"Runtime: {_line(values)}"])


def _worker(facts: PromptFacts) -> str:
    line = _line({"host": facts.host, "os": facts.os})
    return f"[Runtime: {line}]" if line else ""


def _line(values: dict[str, str]) -> str:
    return " | ".join(f"{name}={value}" for name, value in values.items() if value)


_PARTS: dict[str, Callable[[PromptFacts], str]] = {
    "identity": _identity,
    "tooling": _tooling,
    "safety": lambda _: texts.SAFETY,
    "skills": _skills,
    "memory": _memory,
    "workspace": _workspace,
    "documentation": _documentation,
    "owners": _owners,
    "models": _models,
    "time": _time,
    "project context": _project,
    "silent replies": lambda _: texts.SILENT,
    "heartbeats": _heartbeats,
    "extra": _extra,
    "runtime": _runtime,
    "worker": _worker,
}
_FULL = frozenset(_PARTS)
_VARYING = ("runtime", "worker")
"""The parts after the cacheable ones: the first differs between sessions, the second between workers."""
_NEEDS_OUR_TOOLS = frozenset({"skills", "memory", "documentation", "models"})
"""The parts that make sense only with our tools."""
_MINIMAL = frozenset({"identity", "tooling", "safety", "workspace", "project context", "extra", *_VARYING})
"""For sub-agents. Their identity is the task they do; workspace files come with the facts only if settings say so."""
