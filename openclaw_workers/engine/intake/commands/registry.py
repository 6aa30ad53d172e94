"""Slash commands: one table, an authority for each, no model call.

Commands that act at once are carried out where the message arrives. Commands that belong in the conversation's order
(`/new`, `/reset`) go through the inbox like any message and are carried out by the worker that takes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from openclaw_workers.domain.messages import Authority
from openclaw_workers.domain.skill_command import SkillCommand
from openclaw_workers.domain.suggest import did_you_mean
from openclaw_workers.engine.intake.commands import elevated as elevated_command
from openclaw_workers.engine.intake.commands import models as model_commands
from openclaw_workers.engine.intake.commands import questions as question_commands
from openclaw_workers.engine.intake.commands import queue as queue_command
from openclaw_workers.engine.intake.commands import session as session_commands
from openclaw_workers.engine.intake.commands import subagents as subagent_command
from openclaw_workers.engine.intake.commands.command import Command, When
from openclaw_workers.engine.intake.commands.context import CommandContext
from openclaw_workers.engine.intake.commands.context_report import context
from openclaw_workers.errors import BadInput


def find_command(word: str) -> Command | None:
    """A command by its name or an alias, with or without the slash."""
    wanted = word.lower().removeprefix("/")
    return _BY_NAME.get(wanted)


def available_commands(reset_triggers: Sequence[str]) -> list[Command]:
    """The commands there are; `/new` and `/reset` only while they are reset triggers."""
    triggers = {trigger.lower() for trigger in reset_triggers}
    return [each for each in COMMANDS.values() if each.name not in ("new", "reset") or f"/{each.name}" in triggers]


def list_commands(
    reset_triggers: Sequence[str], authority: Authority = Authority.OWNER, skills: Sequence[SkillCommand] = ()
) -> list[dict[str, Any]]:
    """What somebody with this authority may use, as JSON: for the API and the page."""
    of_skills = [_of_skill(each) for each in skills if authority.covers(Authority.AUTHORIZED)]
    own = [
        {
            "name": each.name,
            "aliases": list(each.aliases),
            "usage": each.usage,
            "summary": each.summary,
            "details": each.details,
            "authority": each.authority,
            "when": each.when,
        }
        for each in available_commands(reset_triggers)
        if authority.covers(each.authority)
    ]
    return own + of_skills


def _of_skill(command: SkillCommand) -> dict[str, Any]:
    return {
        "name": command.name,
        "aliases": [],
        "usage": f"/{command.name} [input]",
        "summary": command.description,
        "details": f"Uses the skill {command.skill}.",
        "authority": Authority.AUTHORIZED,
        "when": When.IN_ORDER,
    }


def _help(ctx: CommandContext, argument: str) -> str:
    """`/help`: what the sender may use; `/help queue`: one command."""
    known = available_commands(ctx.settings.session.reset_triggers)
    if argument:
        return _explain(argument, known)
    authority = ctx.caller.command_authority
    mine = [(each.usage, each.summary) for each in known if authority.covers(each.authority)]
    if authority.covers(Authority.AUTHORIZED):
        mine += [(f"/{each.name} [input]", each.description) for each in ctx.skill_commands()]
    width = max(len(usage) for usage, _ in mine)
    return "\n".join(f"{usage.ljust(width)}  {summary}" for usage, summary in mine)


def _explain(argument: str, known: Sequence[Command]) -> str:
    command = find_command(argument)
    if command is None or command not in known:
        word = argument.removeprefix("/")
        guess = did_you_mean(word.lower(), [name for each in known for name in each.names])
        raise BadInput(f"/{word} is not a command", hint=guess or "/help lists the commands")
    lines = [command.usage, f"{command.summary[0].upper()}{command.summary[1:]}.", command.details]
    if command.aliases:
        lines.append("Also: " + ", ".join(f"/{alias}" for alias in command.aliases))
    lines.append(f"For: {command.authority}")
    return "\n".join(filter(None, lines))


COMMANDS: dict[str, Command] = {
    command.name: command
    for command in (
        Command(
            "help", "/help [command]", "this list, or one command", Authority.ANYONE, now=_help, aliases=("commands",)
        ),
        Command("status", "/status", "what this session is doing", Authority.ANYONE, now=session_commands.status),
        Command(
            "whoami",
            "/whoami",
            "who you are here: id, rights, chat and session",
            Authority.ANYONE,
            now=session_commands.whoami,
            aliases=("id",),
        ),
        Command(
            "stop",
            "/stop",
            "stop the running turn and all sub-agents, and cancel waiting messages",
            Authority.AUTHORIZED,
            now=session_commands.stop,
            details="A message that is only `stop`, `abort`, `halt` or the like does the same.",
        ),
        Command(
            "queue",
            queue_command.USAGE,
            "what happens to messages while the session is busy; `/queue default` clears it",
            Authority.OWNER,
            now=queue_command.queue,
        ),
        Command(
            "model",
            "/model [name[@profile]|default|list]",
            "set the model of this session",
            Authority.AUTHORIZED,
            now=model_commands.model,
            details="An owner may add `@profile`: then only that key of the model's provider is used.",
        ),
        Command(
            "think",
            "/think [off|minimal|low|medium|high|xhigh]",
            "set how much the model thinks",
            Authority.AUTHORIZED,
            now=model_commands.think,
            aliases=("thinking", "t"),
        ),
        Command(
            "reasoning",
            "/reasoning [off|on|stream]",
            "show the model's thinking: when it is complete, or as it streams",
            Authority.AUTHORIZED,
            now=model_commands.reasoning,
            aliases=("reason",),
        ),
        Command(
            "verbose",
            "/verbose [off|on|full]",
            "show tool calls; full: with results",
            Authority.AUTHORIZED,
            now=model_commands.verbose,
            aliases=("v",),
        ),
        Command(
            "usage",
            "/usage [off|tokens|full]",
            "add a line with tokens and cost after each reply",
            Authority.AUTHORIZED,
            now=model_commands.usage,
        ),
        Command(
            "context",
            "/context [detail|limit tokens|default]",
            "show what fills the context window, or limit it",
            Authority.AUTHORIZED,
            now=context,
        ),
        Command(
            "name",
            "/name [label|default]",
            "the label by which other sessions find this one",
            Authority.AUTHORIZED,
            now=session_commands.name,
            aliases=("label",),
        ),
        Command(
            "send",
            "/send [on|off|inherit]",
            "whether replies of this session are sent to its chat",
            Authority.OWNER,
            now=session_commands.send,
        ),
        Command(
            "elevated",
            elevated_command.USAGE,
            "whether commands of this sandboxed session run on the host",
            Authority.OWNER,
            now=elevated_command.elevated,
            details="`on` keeps approvals, `full` skips them. For turns of owners, if tools.elevated allows it.",
            aliases=("elev",),
        ),
        Command(
            "activation",
            "/activation [mention|always|default]",
            "in a group: answer every message, or only those that mention the bot",
            Authority.OWNER,
            now=session_commands.activation,
        ),
        Command(
            "approve",
            question_commands.APPROVE_USAGE,
            "let a command run that waits for you: once, always, or for a time",
            Authority.OWNER,
            now=question_commands.approve,
        ),
        Command("deny", question_commands.DENY_USAGE, "do not let it run", Authority.OWNER, now=question_commands.deny),
        Command(
            "answer",
            question_commands.ANSWER_USAGE,
            "answer a question of the agent",
            Authority.ANYONE,
            now=question_commands.answer,
        ),
        Command(
            "subagents",
            subagent_command.USAGE,
            "list, message and stop sub-agents of this session",
            Authority.AUTHORIZED,
            now=subagent_command.subagents,
            details="The id is a number from the list, a label, a run id or `last`; `/subagents stop all` stops all.",
        ),
        Command(
            "new",
            "/new [provider/model]",
            "start a new conversation",
            Authority.AUTHORIZED,
            in_order=session_commands.new,
            checked=session_commands.checked_new,
        ),
        Command("reset", "/reset", "start a new conversation", Authority.AUTHORIZED, in_order=session_commands.reset),
        Command(
            "compact",
            "/compact [instructions]",
            "summarise older messages now",
            Authority.AUTHORIZED,
            in_order=session_commands.compact,
        ),
    )
}
"""By name, in the order in which they are listed."""

_BY_NAME = {name: command for command in COMMANDS.values() for name in command.names}
