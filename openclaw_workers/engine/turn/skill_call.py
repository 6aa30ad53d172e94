"""The tool call that a skill's slash command stands for."""

from __future__ import annotations

from collections.abc import Sequence

from openclaw_workers.domain.ids import RunId
from openclaw_workers.domain.messages import InboxEntry
from openclaw_workers.domain.transcript import ToolCallBlock
from openclaw_workers.engine.intake.skill_commands import COMMAND, INPUT
from openclaw_workers.engine.turn.prepare import Prepared
from openclaw_workers.tools.aliases import canonical


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
    taken = {field.alias or key for key, field in tool.input_type.model_fields.items()}
    arguments = {key: value for key, value in given.items() if key in taken}
    return ToolCallBlock(id=f"skill-{run}", name=tool.name, arguments=arguments)
