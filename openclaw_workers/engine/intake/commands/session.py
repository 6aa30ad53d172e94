"""Slash commands about the session and its chat: what it does, what it is called, when it answers and sends."""

from __future__ import annotations

from openclaw_workers.config.model_names import find_model
from openclaw_workers.config.settings import Settings
from openclaw_workers.domain.messages import Authority
from openclaw_workers.domain.session_key import Kind, parse_key
from openclaw_workers.domain.suggest import did_you_mean
from openclaw_workers.engine.intake.commands import models as model_commands
from openclaw_workers.engine.intake.commands.command import Ordered
from openclaw_workers.engine.intake.commands.context import CommandContext
from openclaw_workers.engine.intake.commands.models import CLEARING
from openclaw_workers.engine.intake.commands.queue import queue_in_force
from openclaw_workers.engine.routing.session_labels import check_label, sessions_labelled
from openclaw_workers.errors import BadInput

_SEND = {"on": "allow", "off": "deny", "inherit": ""}


def status(ctx: CommandContext, _: str) -> str:
    control, entry = ctx.reader.control(ctx.session), ctx.reader.session(ctx.session)
    doing = f" ({control.run})" if control.state != "idle" else ""
    lines = [f"session {ctx.session}", f"state   {control.state}{doing}"]
    lines.append(f"waiting {control.waiting} message(s)")
    if control.owner:
        lines.append(f"worker  {control.owner}, attempt {control.attempt}")
    if entry is not None:
        lines.append(f"model   {model_commands.current_model(ctx)}")
        if entry.auth_profile_pin:
            lines.append(f"key     {entry.auth_profile_pin} (pinned)")
        lines.append(f"tokens  {entry.input_tokens or 0} in, {entry.output_tokens or 0} out")
        lines.append(f"queue   {queue_in_force(ctx)['mode']}")
    return "\n".join(lines)


def stop(ctx: CommandContext, _: str) -> str:
    stopped = ctx.control.stop_session(ctx.session, delivery=ctx.delivery, channel=ctx.channel)
    many = "1 sub-agent" if stopped.children == 1 else f"{stopped.children} sub-agents"
    what = " and ".join([*([stopped.run] if stopped.run else []), *([many] if stopped.children else [])])
    if not what:
        return "Nothing is running."
    waiting = f" and cancelled {stopped.cancelled} waiting message(s)" if stopped.cancelled else ""
    return f"{'Stopping' if stopped.begun else 'Stopped'} {what}{waiting}."


def whoami(ctx: CommandContext, _: str) -> str:
    """Who the sender is to us: what an owner needs to know to list them."""
    caller, route = ctx.caller, ctx.caller.route
    account = f", account {route.account_id}" if route.account_id else ""
    chat = [f"chat    {route.to}"] if route.to and route.to != caller.id else []
    thread = [f"thread  {route.thread_id}"] if route.thread_id else []
    commands = caller.command_authority
    return "\n".join(
        [
            f"name    {caller.name or 'unknown'}",
            f"id      {f'{route.channel}:{caller.id}' if caller.id else 'none'}",
            f"rights  {_RIGHTS[caller.authority]}",
            *([f"commands as {commands}"] if commands != caller.authority else []),
            f"channel {route.channel}{account}",
            *chat,
            *thread,
            f"session {ctx.session}",
        ]
    )


_RIGHTS = {
    Authority.OWNER: "owner: every command and tool",
    Authority.AUTHORIZED: "authorized: the agent follows you, with the session tools",
    Authority.ANYONE: "stranger: the agent reads what you write, and takes no orders from it",
}


def name(ctx: CommandContext, argument: str) -> str:
    """`/name notes`: a label by which other sessions find this one."""
    if not argument:
        row = ctx.row()
        return f"Label: {(row and row.label) or 'none'}. Usage: /name [label|default]"
    if argument.lower() in CLEARING:
        ctx.patch("label", {"label": ""})
        return "Label removed."
    label = check_label(argument)
    # A label must name one session: `sessions_send` finds its target by it.
    if others := sessions_labelled(ctx.reader, label, besides=ctx.session):
        raise BadInput(f"{others[0]} is labelled {label!r} already", hint="choose another label")
    ctx.patch("label", {"label": label})
    return f"Label set: {label}."


def send(ctx: CommandContext, argument: str) -> str:
    """`/send off`: the session goes on, but nothing of it is sent to its chat."""
    word = argument.lower()
    if not word:
        row = ctx.row()
        chosen = row.send_policy if row else None
        shown = next(key for key, value in _SEND.items() if value == (chosen or ""))
        return f"Send: {shown}. Usage: /send on|off|inherit"
    word = "inherit" if word in CLEARING else word
    if word not in _SEND:
        guess = did_you_mean(word, _SEND)
        raise BadInput(f"{argument!r} is not a choice of /send; expected on, off or inherit", hint=guess or None)
    ctx.patch("send policy", {"sendPolicy": _SEND[word]})
    effects = {"on": "replies are sent", "off": "nothing is sent to the chat", "inherit": "session.sendPolicy decides"}
    return f"Send set: {word} ({effects[word]})."


def activation(ctx: CommandContext, argument: str) -> str:
    """`/activation always`: whether the bot answers every message of a group, or only those that mention it."""
    if parse_key(ctx.session).kind not in (Kind.GROUP, Kind.CHANNEL):
        raise BadInput("/activation is for groups; in a direct chat every message is answered")
    word, row = argument.lower(), ctx.row()
    if not word:
        chosen = row.group_activation if row else None
        return f"Activation: {chosen or 'as configured for the group'}. Usage: /activation mention|always|default"
    if word not in ("mention", "always", *CLEARING):
        guess = did_you_mean(word, ("mention", "always"))
        raise BadInput(f"{argument!r} is not an activation; expected mention, always or default", hint=guess or None)
    ctx.begin()  # whoever adds the bot to a group says so first
    ctx.patch("activation", {"groupActivation": "" if word in CLEARING else word})
    effects = {"mention": "when I am mentioned or replied to", "always": "to every message"}
    return f"Activation set: I answer {effects.get(word, 'as configured for the group')}."


def checked_new(settings: Settings, argument: str) -> str:
    return find_model(settings, argument) if len(argument.split()) == 1 else argument


def new(argument: str) -> Ordered:
    if argument and "/" in argument and " " not in argument:
        provider, _, model = argument.partition("/")
        row = {"providerOverride": provider, "modelOverride": model}
        return Ordered(f"New session, with {argument}.", reset=True, row=row)
    if argument:
        return Ordered(f"New session. ({argument!r} is not a `provider/model` name, so the model stays.)", reset=True)
    return Ordered("New session.", reset=True)


def compact(argument: str) -> Ordered:
    return Ordered("", compact=argument)


def reset(_: str) -> Ordered:
    return Ordered("Session reset.", reset=True)
