"""The tool call that a skill's slash command stands for."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from openclaw_workers.agent.loop import AgentLoop
from openclaw_workers.domain.ids import RunId
from openclaw_workers.domain.messages import InboxEntry
from openclaw_workers.domain.transcript import AssistantEntry, ToolCallBlock
from openclaw_workers.engine.intake.skill_commands import COMMAND, INPUT
from openclaw_workers.engine.turn.prepare import Prepared
from openclaw_workers.tools.aliases import canonical

Answering = Callable[[], AssistantEntry]
"""Runs the turn to its answer."""


def answering(loop: AgentLoop, bound: Sequence[InboxEntry], prepared: Prepared, run: RunId) -> Answering:
    """How a turn is answered: by the model, or by the one call that a skill's command stands for."""
    call = skill_call(bound, prepared, run)
    return loop.run if call is None else lambda: loop.call_tool(call)


def skill_call(bound: Sequence[InboxEntry], prepared: Prepared, run: RunId) -> ToolCallBlock | None:
    """The call, or None if the model is to answer: the message is no such command, or came together with others.

    The command is looked up here again: what the skill says on this worker counts, and only a tool that the turn has
    is called.
    """
    if len(bound) != 1 or not (name := bound[0].metadata.get(COMMAND)):
        return None
    command = prepared.skills.command(name)
    tool = prepared.setup.tools.get(canonical(command.tool)) if command else None
    if command is None or tool is None:
        return None
    given = {"command": bound[0].metadata.get(INPUT, ""), "commandName": command.name, "skillName": command.skill}
    # Tools reject arguments that they do not declare.
    taken = {field.alias or key for key, field in tool.input_type.model_fields.items()}
    arguments = {key: value for key, value in given.items() if key in taken}
    # Derived from the run, so that the next owner after a crash finds its result.
    return ToolCallBlock(id=f"skill-{run}", name=tool.name, arguments=arguments)
