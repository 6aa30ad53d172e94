"""`/elevated`: an owner lets the commands of a sandboxed session run on the host."""

from __future__ import annotations

from openclaw_workers.config.elevated import is_elevated_enabled, may_elevate
from openclaw_workers.domain.session_key import agent_of
from openclaw_workers.engine.intake.commands.context import CommandContext
from openclaw_workers.errors import BadInput

USAGE = "/elevated [on|full|off]"
LEVELS = ("on", "full", "off")


def elevated(ctx: CommandContext, argument: str) -> str:
    row = ctx.row()
    if not argument:
        return f"Elevated: {(row and row.elevated_level) or 'off'}. Usage: {USAGE}"
    level = argument.strip().lower()
    if level not in LEVELS:
        raise BadInput(f"{argument!r} is not a level; expected one of {', '.join(LEVELS)}")
    if level != "off":
        _check_allowed(ctx)
    ctx.patch("level", {"elevatedLevel": "" if level == "off" else level})
    return _ANSWERS[level]


_ANSWERS = {
    "on": "Commands of this session run on the host when an owner asks. Approvals hold as elsewhere.",
    "full": "Commands of this session run on the host when an owner asks, without approvals.",
    "off": "Commands of this session run in its sandbox.",
}


def _check_allowed(ctx: CommandContext) -> None:
    settings, caller, agent = ctx.settings, ctx.caller, agent_of(ctx.session)
    if not settings.tools.elevated.enabled:
        raise BadInput(
            "elevated commands are turned off", hint="set tools.elevated.enabled and tools.elevated.allowFrom"
        )
    if not is_elevated_enabled(settings, agent):
        raise BadInput(
            f"elevated commands are turned off for agent {agent}",
            hint="tools.elevated.enabled of the agent or of agents.defaults is false",
        )
    if not may_elevate(settings, agent, ctx.channel, caller.id):
        raise BadInput(
            f"{caller.id or 'you'} may not use elevated commands from {ctx.channel}",
            hint=f"add the id to tools.elevated.allowFrom.{ctx.channel}, and to that of the agent if it has one; "
            "`/whoami` shows it",
        )
