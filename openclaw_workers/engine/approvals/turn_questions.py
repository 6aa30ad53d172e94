"""Questions of one running turn: asked once per call, shown in the chat, and waited for without a worker."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property

from openclaw_workers.config.session import SendPolicySettings
from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.domain.messages import Authority, Route
from openclaw_workers.domain.outgoing import Button, OutgoingKind, OutgoingMessage
from openclaw_workers.domain.question import Question, QuestionKind, question_id
from openclaw_workers.domain.session_key import agent_of
from openclaw_workers.engine.approvals import question_texts as texts
from openclaw_workers.engine.delivery.send_policy import own_choice, send_decision
from openclaw_workers.engine.routing.row_fields import last_route
from openclaw_workers.engine.tree.lineage import authority_of, root_of
from openclaw_workers.errors import TurnParked
from openclaw_workers.store.outbox import Outbox
from openclaw_workers.store.questions import Asked, Questions
from openclaw_workers.store.reader import Reader
from openclaw_workers.store.turn_records import Taken
from openclaw_workers.tools.messaging.inputs import AskInput


@dataclass(frozen=True, kw_only=True)
class QuestionTools:
    """What the questions of all turns share."""

    questions: Questions
    outbox: Outbox
    reader: Reader
    policy: SendPolicySettings
    push_channels: frozenset[str]

    def for_turn(self, taken: Taken) -> TurnQuestions:
        return TurnQuestions(self, taken)


@dataclass(frozen=True)
class TurnQuestions:
    """Implements tools.messaging.port.QuestionPort for one turn."""

    tools: QuestionTools
    taken: Taken

    @property
    def session(self) -> SessionKey:
        return self.taken.lease.session

    @cached_property
    def root(self) -> SessionKey:
        return root_of(self.session, self.taken.row)

    @cached_property
    def authority(self) -> Authority:
        return authority_of(self.taken.row, self.taken.authority)

    def id_of(self, call_id: str) -> str:
        return question_id(self.taken.row.get("sessionId", ""), self.taken.lease.run, call_id)

    def was_held(self, call_id: str) -> bool:
        """Whether a call that was started only waited for an answer, and has not run."""
        return self.tools.questions.is_held(self.id_of(call_id))

    def ask(self, call_id: str, args: AskInput) -> str:
        ident, wait = self.id_of(call_id), timedelta(seconds=args.timeout_seconds)
        text = texts.ask_text(
            ident, args.question, has_choices=bool(args.choices), by_message=self.root == self.session, wait=wait
        )
        record = {"kind": QuestionKind.ASK, "text": args.question, "authority": self.authority}
        asked = self.put(
            call_id,
            {**record, "choices": json.dumps(args.choices)},
            wait=wait,
            once=False,
            shown=(text, texts.ask_buttons(ident, args.choices)),
        )
        if asked.question is None:
            return json.dumps({"status": "expired", "note": "nobody answered in time"})
        return json.dumps({"status": "answered", **_answer(asked.question)}, ensure_ascii=False)

    def put(
        self,
        call_id: str,
        record: dict[str, str],
        *,
        wait: timedelta,
        once: bool,
        shown: tuple[str, tuple[tuple[Button, ...], ...]],
    ) -> Asked:
        """Ask the question of a call, or go on with the answer to it.

        Raises:
            TurnParked: nobody has answered yet. Repeat the call when somebody has, or the time is over.
        """
        ident, route = self.id_of(call_id), self._chat
        about = {"call": call_id, "agent": agent_of(self.session), "address": route.address() if route else ""}
        wait_ms = int(wait.total_seconds() * 1000)
        asked = self.tools.questions.ask(
            self.taken.lease, ident, {"choices": "[]", **record, **about}, wait_ms=wait_ms, once=once
        )
        # The call is repeated after a wake-up, and finds its answer or its end here.
        if asked.state != "waiting":
            return asked
        if route is not None:
            self.tools.outbox.put(
                OutgoingMessage(
                    id=f"out-{ident}",
                    kind=OutgoingKind.NOTICE,
                    route=route,
                    session_key=self.root,
                    run_id=self.taken.lease.run,
                    text=shown[0],
                    buttons=shown[1],
                )
            )
        # A person may take hours: the turn gives its worker back.
        raise TurnParked(self.session, ident, asked.left_ms, is_question=True)

    @cached_property
    def _chat(self) -> Route | None:
        """The chat of the session, or of the one at the root of its tree, if questions may be sent there."""
        row = self.taken.row if self.root == self.session else self.tools.reader.row(self.root)
        route = last_route(row)
        if route.channel not in self.tools.push_channels:
            return None
        decision = send_decision(self.tools.policy, self.root, route.channel, override=own_choice(row))
        return route if decision == "allow" else None


def _answer(question: Question) -> dict[str, object]:
    """The answer, and which choice it is. A number, or the words of a choice, name one."""
    text, choices = question.answer.strip(), question.choices
    number = int(text) if text.isdigit() else 0
    if not 1 <= number <= len(choices):
        lowered = [choice.strip().lower() for choice in choices]
        number = lowered.index(text.lower()) + 1 if text.lower() in lowered else 0
    chosen = {"choice": number, "answer": choices[number - 1]} if number else {"answer": question.answer}
    return {**chosen, "by": question.by}
