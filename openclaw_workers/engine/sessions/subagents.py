"""The `subagents` tool: a session controls its own children, and only those."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from pydantic.alias_generators import to_camel

from openclaw_workers.clock import now_ms
from openclaw_workers.domain.accepted import Rejected
from openclaw_workers.domain.messages import QueueMode
from openclaw_workers.domain.runs import Run
from openclaw_workers.domain.subagents import matching_subagents
from openclaw_workers.domain.untrusted import neutralise_json, wrap
from openclaw_workers.engine.control import Control
from openclaw_workers.engine.intake.accept import Intake
from openclaw_workers.engine.sessions.excerpts import excerpt
from openclaw_workers.engine.sessions.texts_between_sessions import controller_text, internal, message_id
from openclaw_workers.engine.tree.child import Parent
from openclaw_workers.engine.tree.spawn_checks import Refusal, no_room
from openclaw_workers.errors import StoreFull
from openclaw_workers.store.inbox import Inbox
from openclaw_workers.store.reader import Reader
from openclaw_workers.store.tree import Tree
from openclaw_workers.tools.sessions.inputs import SubagentsInput

TASK_CHARS = 200
_NAMES = {"id": "runId", "session_key": "childSessionKey", "kind": "runKind"}
_WORDS = {"text": "frozenResultText", "partial": "partialResultText"}


class SubagentControl:
    """Acts on behalf of one running turn."""

    def __init__(
        self, *, control: Control, intake: Intake, inbox: Inbox, reader: Reader, tree: Tree, controller: Parent
    ) -> None:
        self._control = control
        self._intake = intake
        self._inbox = inbox
        self._reader = reader
        self._tree = tree
        self._controller = controller

    def act(self, call_id: str, args: SubagentsInput) -> str:
        return json.dumps(self._act(call_id, args), ensure_ascii=False)

    def _act(self, call_id: str, args: SubagentsInput) -> dict[str, Any]:
        if not self._controller.controls:
            return Refusal("forbidden", "you control no sub-agents").as_answer()
        children = self._tree.children(self._controller.session)
        if args.action == "list":
            return self._list(children, args.limit)
        if args.action == "stop" and args.target == "all":
            return self._stop(children)
        found = self._find(children, args.target or "")
        return found.as_answer() if isinstance(found, Refusal) else self._on(found, call_id, args)

    def _on(self, child: Run, call_id: str, args: SubagentsInput) -> dict[str, Any]:
        match args.action:
            case "info":
                return {"status": "ok", **self._info(child)}
            case "log":
                answer = excerpt(self._reader, child.session_key, args.limit, include_tools=args.include_tools)
                return {"status": "ok", "sessionKey": child.session_key, **answer}
            case "stop":
                return self._stop([child])
            case _:
                mode = QueueMode.STEER if args.action == "steer" else QueueMode.FOLLOWUP
                return self._say(call_id, child, args.message or "", mode)

    def _list(self, children: Sequence[Run], limit: int) -> dict[str, Any]:
        shown = [_brief(number, run) for number, run in enumerate(children, start=1)][-limit:]
        active = sum(not run.state.is_final for run in children)
        return {"status": "ok", "total": len(children), "active": active, "subagents": shown}

    def _info(self, run: Run) -> dict[str, Any]:
        fields = run.model_dump(mode="json", exclude_none=True, exclude={*_WORDS, "folded"})
        answer = {_NAMES.get(name, to_camel(name)): neutralise_json(value) for name, value in fields.items()}
        answer |= {"outcome": run.outcome, "endedReason": run.ended_reason}
        for name, shown in _WORDS.items():
            if words := getattr(run, name):
                answer[shown] = wrap(words, f"sub-agent {run.session_key}")
        batch = self._tree.batch(run.batch) if run.batch else None
        if batch is not None:
            answer["delivery"] = {"state": batch.state, "tries": batch.tries, "lastError": batch.last_error}
        return answer

    def _stop(self, runs: Sequence[Run]) -> dict[str, Any]:
        """Stop each with its subtree; one that is over already, and all below it, is left as it is."""
        stopped = []
        for run in runs:
            if run.settled_at is None:
                self._control.stop_session(run.session_key)
                stopped.append({"runId": run.id, "label": run.label, "sessionKey": run.session_key})
        note = "each reports that it was stopped" if stopped else "nothing was at work; it was over already"
        return {"status": "ok" if stopped else "done", "stopped": stopped, "note": note}

    def _say(self, call_id: str, run: Run, text: str, mode: QueueMode) -> dict[str, Any]:
        controller, key = self._controller, run.session_key
        ident = message_id(mode, controller.session_id, controller.taken.lease.run, call_id)
        words = controller_text(controller.session, text)
        message = internal(ident, key, controller.session, words, authority=controller.authority)
        try:
            queued = self._intake.post(message, mode)
        except StoreFull as error:
            return Refusal("error", error.message).as_answer()
        if isinstance(queued, Rejected) and queued.reason == "gone":
            return Refusal("error", f"the session of {run.label!r} is archived; start a new sub-agent").as_answer()
        if isinstance(queued, Rejected):
            return no_room(queued.reason).as_answer()
        current = queued.run or self._inbox.current_run(key)
        note = "its answer comes to you by itself"
        return {"status": "accepted", "runId": current, "sessionKey": key, "messageId": ident, "note": note}

    def _find(self, children: Sequence[Run], wanted: str) -> Run | Refusal:
        """By number, run id, session key or label; the newest run of a session stands for it."""
        if wanted == "last" and children:
            return children[-1]
        found = matching_subagents(children, wanted)
        if len(found) == 1:
            return found[0]
        if found:
            names = ", ".join(run.id for run in found)
            return Refusal("error", f"several sub-agents are called {wanted!r}: {names}; name one by its run id")
        # The same words for what does not exist and for what is another's: nobody learns here which of the two it is.
        return Refusal("forbidden", f"you control no sub-agent {wanted!r}; the action list shows those you control")


def _brief(number: int, run: Run) -> dict[str, Any]:
    ended = run.ended_at or now_ms()
    return {
        "number": f"#{number}",
        "runId": run.id,
        "sessionKey": run.session_key,
        "label": neutralise_json(run.label),
        "task": neutralise_json(run.task[:TASK_CHARS]),
        "state": run.state,
        "outcome": run.outcome,
        "endedReason": run.ended_reason,
        "runtimeMs": ended - run.started_at if run.started_at else 0,
        "tokens": run.usage.total,
        "cost": run.cost,
    }
