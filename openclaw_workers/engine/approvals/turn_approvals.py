"""Whether the commands of one running turn may run: by the settings, by what people allowed before, or by asking."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property

from openclaw_workers.config.tools import ExecSettings
from openclaw_workers.domain.messages import Authority
from openclaw_workers.domain.question import Choice, QuestionKind, operation_id
from openclaw_workers.domain.session_key import ChatType, agent_of, chat_type
from openclaw_workers.engine.agent_configs import AgentConfigs
from openclaw_workers.engine.approvals import question_texts as texts
from openclaw_workers.engine.approvals.exec_rules import ExecRules, Verdict, exec_rules
from openclaw_workers.engine.approvals.turn_questions import TurnQuestions
from openclaw_workers.store.questions import StandingApprovals
from openclaw_workers.tools.shell import approval_port as port
from openclaw_workers.tools.shell.command_words import exact_pattern, match, parse
from openclaw_workers.tools.shell.obfuscation import obfuscation

NOT_ALLOWED = "this command may not run here"
WHY_ASKED = "It is not on the list of allowed commands."
WHY_ALWAYS = "Every command is asked for here (tools.exec.ask)."


@dataclass(frozen=True, kw_only=True)
class ExecApprovals:
    """What the approvals of all turns share."""

    agents: AgentConfigs
    standing: StandingApprovals

    def for_turn(self, questions: TurnQuestions) -> TurnApprovals:
        return TurnApprovals(self, questions)


@dataclass(frozen=True)
class TurnApprovals:
    shared: ExecApprovals
    questions: TurnQuestions

    def for_call(self, call_id: str) -> CallApprovals:
        return CallApprovals(self, call_id)

    def was_held(self, call_id: str) -> bool:
        return self.questions.was_held(call_id)

    @cached_property
    def settings(self) -> ExecSettings:
        return self.shared.agents.of_session(self.questions.session).tools.exec

    @cached_property
    def rules(self) -> ExecRules:
        is_direct = chat_type(self.questions.root) is ChatType.DM
        return exec_rules(self.settings, is_private=is_direct and self.questions.authority.covers(Authority.OWNER))

    @property
    def agent(self) -> str:
        return agent_of(self.questions.session)

    def is_listed(self, command: str) -> bool:
        return match(command, (*self.settings.allowlist, *self.shared.standing.patterns(self.agent)))


@dataclass(frozen=True)
class CallApprovals:
    """Implements tools.shell.approval_port.ApprovalPort for one call."""

    turn: TurnApprovals
    call_id: str

    def check(self, command: str, *, cwd: str, place: str) -> port.Decision:
        """Whether the command may run; asks people if the settings say so.

        Raises:
            TurnParked: nobody has decided yet.
        """
        turn, rules = self.turn, self.turn.rules
        if rules.security == "full" and rules.ask == "off":
            return _ALLOWED
        hidden = obfuscation(command) if rules.security == "allowlist" else None
        listed = hidden is None and turn.is_listed(command)
        preapproved = turn.shared.standing.is_allowed(operation_id(turn.agent, command, cwd, place))
        verdict = rules.verdict(matches=listed, is_preapproved=preapproved, is_obfuscated=hidden is not None)
        if verdict is Verdict.ASK:
            return self._ask(command, cwd, place, listed=listed)
        if verdict is Verdict.ALLOW:
            return _ALLOWED
        return _denied(self._reason(hidden))

    def _ask(self, command: str, cwd: str, place: str, *, listed: bool) -> port.Decision:
        turn, questions = self.turn, self.turn.questions
        ident, wait = questions.id_of(self.call_id), turn.settings.approval_timeout
        why = WHY_ALWAYS if turn.rules.ask == "always" else WHY_ASKED
        patterns = [exact_pattern(words) for words in parse(command) or ()]
        buttons = texts.approval_buttons(ident, can_always=bool(patterns), time=turn.settings.approval_for)
        asked = questions.put(
            self.call_id,
            {
                "kind": QuestionKind.APPROVAL,
                "text": why,
                "command": command,
                "cwd": cwd,
                "place": place,
                "patterns": json.dumps(patterns),
                "authority": Authority.OWNER,
                "lasts_ms": str(int(turn.settings.approval_for.total_seconds() * 1000)),
            },
            wait=wait,
            once=True,
            shown=(texts.approval_text(ident, command, cwd=cwd, place=place, why=why, wait=wait), buttons),
        )
        if asked.state == "used":
            return _denied(
                "it was allowed before, and a worker was lost while it ran; whether it took effect is unknown"
            )
        if asked.question is None:
            allowed = turn.rules.unanswered(matches=listed) is Verdict.ALLOW
            return _ALLOWED if allowed else _denied("nobody allowed it in time")
        if asked.question.answer == Choice.DENY:
            return _denied(f"{asked.question.by or 'an owner'} denied it; do not try it again in another form")
        return _ALLOWED

    def _reason(self, hidden: str | None) -> str:
        if hidden:
            return f"it hides what it runs: {hidden}"
        if self.turn.rules.security == "deny":
            return "commands are switched off here (tools.exec.security: deny)"
        return "it is not on the list of allowed commands, and nobody is asked (tools.exec.ask: off)"


_ALLOWED = port.Decision(port.Verdict.ALLOWED)


def _denied(why: str) -> port.Decision:
    return port.Decision(port.Verdict.DENIED, f"{NOT_ALLOWED}: {why}")
