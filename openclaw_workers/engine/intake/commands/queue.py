"""`/queue`: how messages to a busy session are treated."""

from __future__ import annotations

import re

from openclaw_workers.domain.messages import MOST_WAITING, DropPolicy, QueueMode
from openclaw_workers.domain.suggest import did_you_mean
from openclaw_workers.engine.intake.commands.context import CommandContext
from openclaw_workers.engine.intake.commands.models import CLEARING
from openclaw_workers.errors import BadInput

USAGE = "/queue [mode] [debounce:2s] [cap:20] [drop:old]"

_OPTION = re.compile(r"(debounce|cap|drop):(\S+)")
_MODE_ALIASES = {
    "steering": "steer",
    "queue": "steer",
    "followups": "followup",
    "coalesce": "collect",
    "abort": "interrupt",
    "interrupts": "interrupt",
}
_DROP_ALIASES = {"oldest": "old", "newest": "new", "summary": "summarize"}
_FIELDS = {"queueMode": "mode", "queueDebounceMs": "debounce", "queueCap": "cap", "queueDrop": "drop"}


def queue(ctx: CommandContext, argument: str) -> str:
    if not argument:
        rules = queue_in_force(ctx)
        rest = ", ".join(f"{name} {value}" for name, value in rules.items() if name != "mode")
        return f"Queue mode: {rules['mode']}; {rest}. Usage: {USAGE}"
    fields = dict.fromkeys(_FIELDS, "") if argument.lower() in CLEARING else parse_queue(argument)
    ctx.patch("queue mode", fields)
    set_to = ", ".join(f"{_FIELDS[name]} {_in_words(name, value) or 'default'}" for name, value in fields.items())
    return f"Queue set: {set_to}."


def queue_in_force(ctx: CommandContext) -> dict[str, str]:
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
    shown = {}
    for name, default in defaults.items():
        own = chosen.get(name)
        mark = " (default)" if own is None else ""
        shown[_FIELDS[name]] = _in_words(name, default if own is None else own) + mark
    return shown


def _in_words(name: str, value: object) -> str:
    return f"{value} ms" if name == "queueDebounceMs" and value != "" else str(value)


def parse_queue(argument: str) -> dict[str, str]:
    """Row fields for `/queue collect debounce:2s cap:25 drop:old`.

    Raises:
        BadInput: naming the word that is not understood and what was expected.
    """
    fields: dict[str, str] = {}
    for word in argument.lower().split():
        option = _OPTION.fullmatch(word)
        mode = _MODE_ALIASES.get(word, word)
        if option is None and mode in list(QueueMode):
            fields["queueMode"] = mode
        elif option is None:
            guess = did_you_mean(word, [*map(str, QueueMode), *_MODE_ALIASES])
            suffix = f" ({guess})" if guess else ""
            raise BadInput(f"{word!r} is not a queue mode; expected one of {', '.join(QueueMode)}{suffix}")
        else:
            fields |= _option(option[1], option[2])
    return fields


def _option(name: str, value: str) -> dict[str, str]:
    if name == "drop":
        drop = _DROP_ALIASES.get(value, value)
        if drop not in list(DropPolicy):
            raise BadInput(f"drop:{value} is not a drop policy; expected one of {', '.join(DropPolicy)}")
        return {"queueDrop": drop}
    number = re.fullmatch(r"(\d{1,7})(ms|s|m)?", value)
    if number is None or (name == "cap" and (number[2] or not 1 <= int(number[1]) <= MOST_WAITING)):
        expected = f"a number from 1 to {MOST_WAITING}" if name == "cap" else "a time such as 500ms, 2s or 1m"
        raise BadInput(f"{name}:{value} is not understood; expected {expected}")
    if name == "cap":
        return {"queueCap": number[1]}
    return {"queueDebounceMs": str(int(number[1]) * {None: 1, "ms": 1, "s": 1000, "m": 60_000}[number[2]])}
