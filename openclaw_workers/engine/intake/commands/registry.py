"""Slash commands: one registry, an authority for each, no model call.

Commands that act at once are carried out where the message arrives. Commands that belong in the conversation's order
(`/new`, `/reset`) go through the inbox like any message and are carried out by the worker that takes them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from openclaw_workers.config.model_names import find_model
from openclaw_workers.config.settings import Settings
from openclaw_workers.domain.messages import Authority, DropPolicy, QueueMode
from openclaw_workers.domain.suggest import did_you_mean
from openclaw_workers.engine.intake.commands import models as model_commands
from openclaw_workers.engine.intake.commands.context import CommandContext
from openclaw_workers.engine.intake.commands.context_report import context
from openclaw_workers.errors import BadInput


class When(StrEnum):
    NOW = "now"
    IN_ORDER = "in order"


@dataclass(frozen=True, slots=True)
class Ordered:
    """What a command in the inbox does to its session."""

    text: str
    reset: bool = False
    compact: str | None = None
    """Compact the conversation, attending to this."""
    row: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Command:
    name: str
    usage: str
    summary: str
    authority: Authority
    now: Callable[[CommandContext, str], str] | None = None
    in_order: Callable[[str], Ordered] | None = None
    checked: Callable[[Settings, str], str] = lambda settings, argument: argument
    """The argument of one that goes through the inbox, as it is kept there; raises BadInput where it came in."""

    @property
    def when(self) -> When:
        return When.NOW if self.now else When.IN_ORDER


@dataclass(frozen=True, slots=True)
class ParsedCommand:
    command: Command
    argument: str

    @property
    def text(self) -> str:
        """The command under its own name, however it was written."""
        return f"/{self.command.name} {self.argument}".rstrip()


_COMMAND = re.compile(r"/([a-z][a-z0-9_-]*)(?:@\S+)?(?:[ \t:]+(.*))?\Z", re.IGNORECASE | re.DOTALL)


def parse_command(text: str, *, reset_triggers: Sequence[str] = ("/new", "/reset")) -> ParsedCommand | None:
    """The command a message is, or None when it is an ordinary message.

    A leading slash with an unknown word is an ordinary message: people do write paths. `reset_triggers` are the words
    that begin a new session; `/new` and `/reset` do so only while they are among them.
    """
    word, _, rest = text.strip().partition(" ")
    triggers = [trigger.lower() for trigger in reset_triggers]
    if word.lower() in triggers:
        return ParsedCommand(COMMANDS["reset" if word.lower() == "/reset" else "new"], rest.strip())
    match = _COMMAND.match(text.strip())
    if match and match[1].lower() in ("new", "reset") and f"/{match[1].lower()}" not in triggers:
        return None
    command = COMMANDS.get(match[1].lower()) if match else None
    return ParsedCommand(command, (match[2] or "").strip()) if match and command else None


def _help(ctx: CommandContext, _: str) -> str:
    triggers = ctx.settings.session.reset_triggers
    known = [c for c in COMMANDS.values() if parse_command(f"/{c.name}", reset_triggers=triggers) is not None]
    width = max(len(command.usage) for command in known)
    return "\n".join(f"{command.usage.ljust(width)}  {command.summary}" for command in known)


def _stop(ctx: CommandContext, _: str) -> str:
    stopped = ctx.control.stop_session(ctx.session, delivery=ctx.delivery)
    many = "1 sub-agent" if stopped.children == 1 else f"{stopped.children} sub-agents"
    what = " and ".join([*([stopped.run] if stopped.run else []), *([many] if stopped.children else [])])
    if not what:
        return "Nothing is running."
    waiting = f" and cancelled {stopped.cancelled} waiting message(s)" if stopped.cancelled else ""
    return f"{'Stopping' if stopped.begun else 'Stopped'} {what}{waiting}."


def _status(ctx: CommandContext, _: str) -> str:
    control, entry = ctx.reader.control(ctx.session), ctx.reader.session(ctx.session)
    doing = f" ({control.run})" if control.state != "idle" else ""
    lines = [f"session {ctx.session}", f"state   {control.state}{doing}"]
    lines.append(f"waiting {control.waiting} message(s)")
    if control.owner:
        lines.append(f"worker  {control.owner}, attempt {control.attempt}")
    if entry is not None:
        lines.append(f"model   {model_commands.current_model(ctx)}")
        lines.append(f"tokens  {entry.input_tokens or 0} in, {entry.output_tokens or 0} out")
        lines.append(f"queue   {_queue_in_force(ctx)['mode']}")
    return "\n".join(lines)


_QUEUE_WORD = re.compile(r"(debounce|cap|drop):(\S+)")
_MODE_ALIASES = {
    "steering": "steer",
    "queue": "steer",
    "followups": "followup",
    "coalesce": "collect",
    "abort": "interrupt",
    "interrupts": "interrupt",
}
_DROP_ALIASES = {"oldest": "old", "newest": "new", "summary": "summarize"}


def _queue(ctx: CommandContext, argument: str) -> str:
    if not argument:
        rules_shown = _queue_in_force(ctx)
        rest = ", ".join(f"{name} {value}" for name, value in rules_shown.items() if name != "mode")
        return f"Queue mode: {rules_shown['mode']}; {rest}. Usage: {COMMANDS['queue'].usage}"
    if argument.lower() in ("default", "reset", "clear"):
        fields = dict.fromkeys(("queueMode", "queueDebounceMs", "queueCap", "queueDrop"), "")
    else:
        fields = parse_queue(argument)
    ctx.patch("queue mode", fields)
    set_to = ", ".join(f"{_QUEUE_FIELDS[name]} {_in_words(name, value) or 'default'}" for name, value in fields.items())
    return f"Queue set: {set_to}."


_QUEUE_FIELDS = {"queueMode": "mode", "queueDebounceMs": "debounce", "queueCap": "cap", "queueDrop": "drop"}


def _queue_in_force(ctx: CommandContext) -> dict[str, str]:
    """How this session treats messages from where the command came: its own choice, the channel's, or the default."""
    rules, channel = ctx.settings.messages.queue, ctx.channel
    defaults = {
        "queueMode": rules.by_channel.get(channel, rules.mode),
        "queueDebounceMs": rules.debounce_ms_by_channel.get(channel, rules.debounce_ms),
        "queueCap": rules.cap,
        "queueDrop": rules.drop,
    }
    row = ctx.row()
    chosen = row.model_dump(by_alias=True) if row else {}
    rules_shown = {}
    for name, default in defaults.items():
        own = chosen.get(name)
        rules_shown[_QUEUE_FIELDS[name]] = _in_words(name, default if own is None else own) + (
            " (default)" if own is None else ""
        )
    return rules_shown


def _in_words(name: str, value: object) -> str:
    return f"{value} ms" if name == "queueDebounceMs" and value != "" else str(value)


def parse_queue(argument: str) -> dict[str, str]:
    """Row fields for `/queue collect debounce:2s cap:25 drop:old`.

    Raises:
        BadInput: naming the word that is not understood and what was expected.
    """
    fields: dict[str, str] = {}
    for word in argument.lower().split():
        option = _QUEUE_WORD.fullmatch(word)
        mode = _MODE_ALIASES.get(word, word)
        if option is None and mode in list(QueueMode):
            fields["queueMode"] = mode
        elif option is None:
            guess = did_you_mean(word, [*map(str, QueueMode), *_MODE_ALIASES])
            suffix = f" ({guess})" if guess else ""
            raise BadInput(f"{word!r} is no queue mode; expected one of {', '.join(QueueMode)}{suffix}")
        else:
            fields |= _queue_option(option[1], option[2])
    return fields


def _queue_option(name: str, value: str) -> dict[str, str]:
    if name == "drop":
        drop = _DROP_ALIASES.get(value, value)
        if drop not in list(DropPolicy):
            raise BadInput(f"drop:{value} is no drop policy; expected one of {', '.join(DropPolicy)}")
        return {"queueDrop": drop}
    number = re.fullmatch(r"(\d{1,7})(ms|s|m)?", value)
    if number is None or (name == "cap" and (number[2] or int(number[1]) < 1)):
        expected = "a number of at least 1" if name == "cap" else "a time such as 500ms, 2s or 1m"
        raise BadInput(f"{name}:{value} is not understood; expected {expected}")
    if name == "cap":
        return {"queueCap": number[1]}
    return {"queueDebounceMs": str(int(number[1]) * {None: 1, "ms": 1, "s": 1000, "m": 60_000}[number[2]])}


def _checked_new(settings: Settings, argument: str) -> str:
    return find_model(settings, argument) if len(argument.split()) == 1 else argument


def _new(argument: str) -> Ordered:
    if argument and "/" in argument and " " not in argument:
        provider, _, model = argument.partition("/")
        row = {"providerOverride": provider, "modelOverride": model}
        return Ordered(f"New session, with {argument}.", reset=True, row=row)
    if argument:
        return Ordered(f"New session. ({argument!r} is no `provider/model` name, so the model stays.)", reset=True)
    return Ordered("New session.", reset=True)


def _compact(argument: str) -> Ordered:
    return Ordered("", compact=argument)


def _reset(_: str) -> Ordered:
    return Ordered("Session reset.", reset=True)


COMMANDS: dict[str, Command] = {
    command.name: command
    for command in (
        Command("help", "/help", "this list", Authority.ANYONE, now=_help),
        Command("status", "/status", "what this session is doing", Authority.ANYONE, now=_status),
        Command(
            "stop",
            "/stop",
            "stop the running turn and the sub-agents, and cancel what waits",
            Authority.AUTHORIZED,
            now=_stop,
        ),
        Command(
            "queue",
            "/queue [mode] [debounce:2s] [cap:20] [drop:old]",
            "how messages to a busy session are treated; `/queue default` clears",
            Authority.OWNER,
            now=_queue,
        ),
        Command(
            "model",
            "/model [name|default|list]",
            "which model answers in this session",
            Authority.AUTHORIZED,
            now=model_commands.model,
        ),
        Command(
            "think",
            "/think [off|minimal|low|medium|high|xhigh]",
            "how much it thinks before it answers",
            Authority.AUTHORIZED,
            now=model_commands.think,
        ),
        Command(
            "reasoning",
            "/reasoning [off|on|stream]",
            "whether its thinking is shown: after it has thought, or as it thinks",
            Authority.AUTHORIZED,
            now=model_commands.reasoning,
        ),
        Command(
            "verbose",
            "/verbose [off|on|full]",
            "whether the tools it calls are shown; full: their results too",
            Authority.AUTHORIZED,
            now=model_commands.verbose,
        ),
        Command(
            "usage",
            "/usage [off|tokens|full]",
            "whether each reply is followed by what it took",
            Authority.AUTHORIZED,
            now=model_commands.usage,
        ),
        Command(
            "context",
            "/context [limit tokens|default]",
            "what fills the model's window, or how much of it is used at most",
            Authority.AUTHORIZED,
            now=context,
        ),
        Command(
            "new",
            "/new [provider/model]",
            "begin a new session",
            Authority.AUTHORIZED,
            in_order=_new,
            checked=_checked_new,
        ),
        Command("reset", "/reset", "begin a new session", Authority.AUTHORIZED, in_order=_reset),
        Command(
            "compact", "/compact [instructions]", "sum up older messages now", Authority.AUTHORIZED, in_order=_compact
        ),
    )
}
