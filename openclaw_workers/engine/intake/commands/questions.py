"""`/approve`, `/deny` and `/answer`: people decide what a run waits for."""

from __future__ import annotations

from openclaw_workers.domain.messages import Authority
from openclaw_workers.engine.intake.commands.context import CommandContext
from openclaw_workers.errors import BadInput, ConflictError, NotFound

APPROVE_USAGE = "/approve [id] [once|always|for]"
DENY_USAGE = "/deny [id]"
ANSWER_USAGE = "/answer <id> <choice or words>"
WAYS = ("once", "always", "for")


def approve(ctx: CommandContext, argument: str) -> str:
    """Without an id, the only question of this session is meant."""
    words = argument.lower().split()
    how = words.pop() if words and words[-1] in WAYS else "once"
    if len(words) > 1:
        raise BadInput(f"/approve does not know {words[1]!r}; expected {APPROVE_USAGE}")
    return _decide(ctx, words[0] if words else "", how)


def deny(ctx: CommandContext, argument: str) -> str:
    return _decide(ctx, argument.strip(), "deny")


def answer(ctx: CommandContext, argument: str) -> str:
    wanted, _, text = argument.strip().partition(" ")
    if not wanted or not text.strip():
        raise BadInput(f"expected {ANSWER_USAGE}")
    address, who = ctx.caller.route.address(), _who(ctx)
    try:
        found = ctx.answers.find(wanted)
        return ctx.answers.answer(found, text, by=who, authority=ctx.caller.authority, address=address)
    except (NotFound, ConflictError) as error:
        return error.message


def _decide(ctx: CommandContext, wanted: str, how: str) -> str:
    try:
        found = ctx.answers.find(wanted, None if wanted else ctx.session)
        return ctx.answers.decide(found, how, by=_who(ctx), authority=ctx.caller.command_authority)
    except (NotFound, ConflictError) as error:
        return error.message


def _who(ctx: CommandContext) -> str:
    caller = ctx.caller
    owner = "the owner" if caller.authority is Authority.OWNER else "somebody"
    return caller.name or caller.id or owner
