"""How people answer questions: by command, button, page, API or command line."""

from __future__ import annotations

from datetime import timedelta

from openclaw_workers.config.base import format_duration
from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.domain.messages import Authority
from openclaw_workers.domain.question import Choice, Question, QuestionKind
from openclaw_workers.engine.wake import Waker, wake_run
from openclaw_workers.errors import BadInput, ConflictError, NotFound
from openclaw_workers.store.questions import AnswerResult, Questions, StandingApprovals
from openclaw_workers.store.reader import Reader

HOW = {"once": Choice.ONCE, "always": Choice.ALWAYS, "for": Choice.FOR_A_TIME, "deny": Choice.DENY}


class Answers:
    def __init__(self, questions: Questions, standing: StandingApprovals, reader: Reader, waker: Waker) -> None:
        self._questions = questions
        self._standing = standing
        self._reader = reader
        self._waker = waker

    def open(self) -> list[Question]:
        return self._questions.open()

    def find(self, wanted: str, session: SessionKey | None = None) -> Question:
        """A question by its id, or the only open one: of a session, if one is given.

        Raises:
            NotFound: there is none.
            BadInput: several are open.
        """
        if wanted:
            found = self._questions.get(wanted.strip().lower())
            if found is None:
                raise NotFound(f"no question {wanted!r}", hint="`ocw approvals list` shows the open ones")
            return found
        waiting = [each for each in self.open() if session in (None, each.session)]
        if not waiting:
            raise NotFound("no question waits for an answer")
        if len(waiting) > 1:
            raise BadInput("several questions wait; name one", hint=", ".join(each.id for each in waiting[:10]))
        return waiting[0]

    def decide(self, question: Question, how: str, *, by: str, authority: Authority) -> str:
        """Allow or deny a command: `once`, `always`, `for` (a time) or `deny`.

        Raises:
            BadInput: it is no approval, there is no such way, or whoever decides may not.
            ConflictError: it was answered before, its time was over, or nobody waits for it.
        """
        choice = HOW.get(how)
        if choice is None:
            raise BadInput(f"expected once, always or for, not {how!r}")
        if question.kind is not QuestionKind.APPROVAL:
            raise BadInput(f"{question.id} is not an approval", hint=f"answer it with /answer {question.id} …")
        # A pattern for pipes or substitutions would allow more than the person has seen.
        if choice is Choice.ALWAYS and not question.patterns:
            raise BadInput(
                "this command has more than plain words, so no list can name it", hint="allow it once, or for a time"
            )
        self._settle(question, choice, by, authority)
        # Only after the answer has counted: one that comes too late must not allow anything.
        match choice:
            case Choice.ALWAYS:
                self._standing.allow_always(question.agent, question.patterns, by)
                return f"Allowed always: {', '.join(question.patterns)}"
            case Choice.FOR_A_TIME:
                self._standing.allow_for(question, question.lasts_ms, by)
                lasts = format_duration(timedelta(milliseconds=question.lasts_ms))
                return f"Allowed for {lasts}: exactly this command in this directory."
            case Choice.ONCE:
                return "Allowed once."
            case Choice.DENY:
                return "Denied."

    def answer(self, question: Question, text: str, *, by: str, authority: Authority, address: str | None) -> str:
        """Answer what an agent asked. `address`: the chat that the answer comes from; None from page or command line.

        Raises:
            BadInput: it is an approval, or whoever answers may not.
            ConflictError: as for `decide`.
        """
        if question.kind is not QuestionKind.ASK:
            raise BadInput(
                f"{question.id} asks for an approval", hint=f"/approve {question.id}, or /deny {question.id}"
            )
        # Otherwise a member of one chat could answer what was asked in another.
        if address is not None and address != question.address and not authority.covers(Authority.OWNER):
            raise BadInput("that question was asked in another chat")
        if not text.strip():
            raise BadInput("the answer is empty", hint=f"/answer {question.id} and what you want to say")
        self._settle(question, text.strip(), by, authority)
        return "Thank you."

    def _settle(self, question: Question, answer: str, by: str, authority: Authority) -> None:
        # The answer steers the turn, so it needs the authority that the turn has.
        if not authority.covers(question.authority):
            raise BadInput(f"only somebody with the authority of {question.authority} may answer {question.id}")
        done = self._questions.answer(question, answer, by)
        if done.state != "answered":
            raise ConflictError(_too_late(done))
        run = self._reader.run(done.wake) if done.wake else None
        if run is not None:
            wake_run(self._waker, run)


def _too_late(done: AnswerResult) -> str:
    if done.state == "gone" or done.question is None:
        return "nobody waits for this answer now: the turn was stopped, or has ended"
    if done.question.answer:
        return f"it was answered before by {done.question.by or 'somebody'}: {done.question.answer}"
    return f"it is too late: the question is {done.question.state}"
