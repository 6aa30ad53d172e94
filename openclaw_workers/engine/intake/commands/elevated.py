"""`/elevated`: an owner lets the commands of a sandboxed session run on the host."""

from __future__ import annotations

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
        raise BadInput(f"{argument!r} is no level; expected one of {', '.join(LEVELS)}")
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
    settings, caller = ctx.settings.tools.elevated, ctx.caller
    if not settings.enabled:
        raise BadInput(
            "elevated commands are turned off", hint="set tools.elevated.enabled and tools.elevated.allowFrom"
        )
    listed = settings.allow_from.get(ctx.channel, ())
    if "*" not in listed and (not caller.id or caller.id not in listed):
        raise BadInput(
            f"{caller.id or 'you'} may not use elevated commands from {ctx.channel}",
            hint=f"add the id to tools.elevated.allowFrom.{ctx.channel}; `/whoami` shows it",
        )
