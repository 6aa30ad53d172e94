"""`/subagents`: a person looks after the sub-agents of the session they write in."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from openclaw_workers.agent.prompt.texts import MESSAGE_FROM_PARENT
from openclaw_workers.clock import now_ms
from openclaw_workers.domain.ids import MessageId, new_message_id
from openclaw_workers.domain.messages import InboundMessage, QueueMode, Route
from openclaw_workers.domain.runs import Run
from openclaw_workers.domain.shorten import shorten
from openclaw_workers.domain.subagents import matching_subagents
from openclaw_workers.domain.suggest import did_you_mean
from openclaw_workers.domain.transcript import AssistantEntry, TextBlock, ToolResultEntry, UserEntry
from openclaw_workers.domain.untrusted import unwrap
from openclaw_workers.engine.intake.commands.context import CommandContext
from openclaw_workers.errors import BadInput
from openclaw_workers.redaction import mask_secrets

USAGE = "/subagents [list | info|log|stop <id> | send|steer <id> <message>]"
MOST_LISTED = 20
LOGGED = 10
LINE_CHARS = 300


def subagents(ctx: CommandContext, argument: str) -> str:
    """The id is a number of the list, a label, a run id, a session key, or `last`; `stop all` stops every one."""
    verb, _, rest = argument.strip().partition(" ")
    verb = verb.lower() or "list"
    if verb == "list":
        return _list(ctx)
    act = _ACTIONS.get(verb)
    if act is None:
        guess = did_you_mean(verb, ["list", *_ACTIONS])
        raise BadInput(f"/subagents does not know {verb!r}; expected {USAGE}", hint=guess or None)
    wanted, _, words = rest.strip().partition(" ")
    if not wanted:
        raise BadInput(f"/subagents {verb} needs an id", hint="/subagents list shows them")
    if verb == "stop" and wanted.lower() == "all":
        return _stop_all(ctx)
    return act(ctx, _find(ctx, wanted), words.strip())


def _list(ctx: CommandContext) -> str:
    runs = ctx.tree.children(ctx.session)
    if not runs:
        return "No sub-agents."
    lines = [f"#{number} {_line(run)}" for number, run in enumerate(runs, start=1)]
    left_out = [f"({len(lines) - MOST_LISTED} older ones are not shown)"] if len(lines) > MOST_LISTED else []
    return "\n".join([*left_out, *lines[-MOST_LISTED:]])


def _line(run: Run) -> str:
    ended = run.ended_at or now_ms()
    seconds = f", {(ended - run.started_at) // 1000} s" if run.started_at else ""
    return f"{shorten(run.label, 60)}: {run.state}{seconds}, {run.usage.total:,} tokens"


def _info(ctx: CommandContext, run: Run, _: str) -> str:
    result = run.text or run.partial or run.error or ""
    facts = {
        "label": run.label,
        "state": run.state,
        "reason": run.ended_reason,
        "run": run.id,
        "session": run.session_key,
        "model": run.model,
        "tokens": f"{run.usage.total:,}",
        "cost": f"{run.cost:.4f}" if run.cost else None,
        "task": shorten(run.task, LINE_CHARS),
        # The answer goes into a chat, which others may read.
        "result": shorten(mask_secrets(result), LINE_CHARS * 3),
    }
    return "\n".join(f"{name:<8}{value}" for name, value in facts.items() if value)


def _log(ctx: CommandContext, run: Run, words: str) -> str:
    if words and not words.isdecimal():
        raise BadInput(f"{words!r} is not a number of entries", hint="such as: /subagents log 1 20")
    entries = ctx.reader.transcript(run.session_key, -min(int(words or LOGGED) or LOGGED, 100), -1)
    lines = [line for entry in entries if (line := _logged(entry))]
    return "\n".join(lines) or "Nothing is on record; its session may be archived."


def _logged(entry: object) -> str:
    if not isinstance(entry, UserEntry | AssistantEntry | ToolResultEntry):
        return ""
    text = unwrap(" ".join(block.text for block in entry.content if isinstance(block, TextBlock)))
    calls = ", ".join(call.name for call in entry.tool_calls) if isinstance(entry, AssistantEntry) else ""
    who = entry.tool_name if isinstance(entry, ToolResultEntry) else entry.role
    shown = " ".join(filter(None, [shorten(mask_secrets(" ".join(text.split())), LINE_CHARS), calls and f"[{calls}]"]))
    return f"{who}: {shown}" if shown else ""


def _stop(ctx: CommandContext, run: Run, _: str) -> str:
    if run.settled_at is not None:
        return f"{run.label!r} had ended already ({run.state})."
    ctx.control.stop_session(run.session_key)
    return f"Stopping {run.label!r} and what it started."


def _stop_all(ctx: CommandContext) -> str:
    runs = [run for run in ctx.tree.children(ctx.session) if run.settled_at is None]
    for run in runs:
        ctx.control.stop_session(run.session_key)
    return f"Stopping {len(runs)} sub-agent(s)." if runs else "No sub-agent is active."


def _send(ctx: CommandContext, run: Run, words: str) -> str:
    return _say(ctx, run, words, QueueMode.FOLLOWUP, "answers it after its current turn")


def _steer(ctx: CommandContext, run: Run, words: str) -> str:
    return _say(ctx, run, words, QueueMode.STEER, "reads it before its next model call")


def _say(ctx: CommandContext, run: Run, words: str, mode: QueueMode, note: str) -> str:
    """Its answer goes to the session that started it, as the answer to its task does, and from there to the chat."""
    if not words:
        raise BadInput("the message is missing", hint=f"such as: /subagents {mode} 1 leave out the tests")
    message = InboundMessage(
        id=_message_id(ctx, run),
        session_key=run.session_key,
        text=MESSAGE_FROM_PARENT.format(sender=ctx.session, text=words),
        route=Route(channel="internal", to=ctx.session),
        sender=ctx.session,
        authority=ctx.caller.authority,
        kind="internal",
        metadata={"provenance": "inter_session", "from": ctx.session},
    )
    ctx.post(message, mode)
    return f"Accepted: {run.label!r} {note}."


def _message_id(ctx: CommandContext, run: Run) -> MessageId:
    """The same each time the command is delivered."""
    if not ctx.delivery:
        return new_message_id()
    return MessageId("say-" + hashlib.sha256(f"{ctx.delivery}\0{run.session_key}".encode()).hexdigest()[:24])


def _find(ctx: CommandContext, wanted: str) -> Run:
    runs = ctx.tree.children(ctx.session)
    if wanted.lower() == "last" and runs:
        return runs[-1]
    found = matching_subagents(runs, wanted)
    if len(found) == 1:
        return found[0]
    if found:
        raise BadInput(
            f"several sub-agents are called {wanted!r}: {', '.join(run.id for run in found)}",
            hint="name one by its number or run id",
        )
    raise BadInput(f"this session has no sub-agent {wanted!r}", hint="/subagents list shows them")


_ACTIONS: dict[str, Callable[[CommandContext, Run, str], str]] = {
    "info": _info,
    "log": _log,
    "stop": _stop,
    "send": _send,
    "steer": _steer,
}
