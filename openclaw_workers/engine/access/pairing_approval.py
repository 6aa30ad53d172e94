"""Letting people and groups in, and out again: what `ocw pairing` and the API do."""

from __future__ import annotations

from collections.abc import Callable

from openclaw_workers.config.settings import Settings
from openclaw_workers.domain.pairing import Admission, PairingRequest, Refusal, Subject, as_code, parse_subject
from openclaw_workers.domain.session_key import link_identity
from openclaw_workers.engine.access.channel_settings import channel_rules, configured_people, has_configured_owner
from openclaw_workers.engine.routing.addressing import session_rules
from openclaw_workers.errors import ConflictError, NotFound
from openclaw_workers.store.pairing import Approved, Pairings, SecondPerson

SHARE_OPTION = "--share-session"


class PairingService:
    def __init__(self, settings: Settings, pairings: Pairings, *, now_ms: Callable[[], int]) -> None:
        self._settings = settings
        self._pairings = pairings
        self._now_ms = now_ms
        self._rules = session_rules(settings)

    def admissions(self) -> list[Admission]:
        return self._pairings.admissions()

    def requests(self) -> list[PairingRequest]:
        return self._pairings.requests(self._now_ms())

    def refusals(self) -> list[Refusal]:
        return self._pairings.refusals()

    def approve(self, wanted: str, *, share_session: bool = False) -> Admission:
        """Let in the person with this pairing code, or the person, group or member of a group that is named.

        Raises:
            BadInput: it is neither a code nor a name.
            NotFound: no request has this code, or there is no such account.
            ConflictError: a second person would join the conversation of the first.
        """
        code = as_code(wanted)
        subject, name = self._requested(code) if code else self._named(wanted)
        approved = self._pairings.approve(
            subject,
            code=code or "",
            name=name,
            has_owner=has_configured_owner(self._settings),
            may_share=share_session or not self._rules.shares_direct_chats,
            has_other=self._has_other(subject),
            same_person=self._same_person(subject),
        )
        if isinstance(approved, SecondPerson):
            raise _second(approved)
        if not isinstance(approved, Approved):
            raise _no_request(wanted)
        found = self._pairings.admitted([subject]).get(subject)
        if found is None:
            raise ConflictError(f"{subject} was approved and revoked at the same moment")
        return found

    def revoke(self, wanted: str) -> str:
        """Revoke somebody's access, or reject a request; says who it was.

        Raises:
            BadInput: it is neither a code nor a name.
            NotFound: nobody of that name was let in or asks to be.
        """
        code = as_code(wanted)
        subject = str(self._requested(code)[0] if code else parse_subject(wanted))
        if not self._pairings.revoke(subject):
            raise NotFound(
                f"{subject} was not let in",
                hint="`ocw pairing list` shows who was; owners and allowFrom of the configuration are changed there",
            )
        return subject

    def _requested(self, code: str) -> tuple[Subject, str]:
        for request in self.requests():
            if request.code == code:
                subject = Subject(request.channel, request.account_id, request.person_id, request.group_id)
                return subject, request.name
        raise _no_request(code)

    def _named(self, wanted: str) -> tuple[Subject, str]:
        subject = parse_subject(wanted)
        if channel_rules(self._settings, subject.channel, subject.account_id) is None:
            raise NotFound(f"no channel or account {subject.prefix.rstrip(':')} is configured")
        known = [*self._pairings.refusals(), *self.requests(), *self._pairings.admissions()]
        return subject, next((each.name for each in known if each.subject == str(subject)), "")

    def _person(self, channel: str, person_id: str) -> str:
        linked = link_identity(self._rules.identity_links, channel, person_id)
        return linked if linked != person_id else f"{channel}:{person_id}"

    def _has_other(self, subject: Subject) -> bool:
        """Whether the configuration lets another person write directly to this account."""
        me = self._person(subject.channel, subject.person_id)
        listed = configured_people(self._settings, subject.channel, subject.account_id)
        return any(self._person(subject.channel, each) != me for each in listed)

    def _same_person(self, subject: Subject) -> list[str]:
        """Others who were let in and are the same person, by `session.identityLinks`."""
        if subject.kind != "person":
            return []
        me = self._person(subject.channel, subject.person_id)
        people = [each for each in self._pairings.admissions() if each.kind == "person"]
        return [each.subject for each in people if self._person(each.channel, each.person_id) == me]


def _second(found: SecondPerson) -> ConflictError:
    other = found.other or "somebody in the configuration"
    return ConflictError(
        f"{other} is in the main conversation already; a second person would read and continue it",
        hint="set session.dmScope to per-channel-peer, so that each person has a session, "
        f"or repeat with {SHARE_OPTION}",
    )


def _no_request(code: str) -> NotFound:
    hint = "codes are valid for an hour; `ocw pairing list` shows them. The person gets a new one by writing again"
    return NotFound(f"nobody has the pairing code {code}", hint=hint)
