"""With which authority a person of a chat channel speaks, wherever their words come from."""

from __future__ import annotations

from dataclasses import dataclass

from openclaw_workers.config.settings import Settings
from openclaw_workers.domain.messages import Authority
from openclaw_workers.domain.pairing import Subject
from openclaw_workers.engine.access.admission_rules import Approvals, NotHeard, command_authority, in_direct_chat
from openclaw_workers.engine.access.channel_settings import channel_rules, is_listed, owners_of
from openclaw_workers.store.pairing import Pairings


@dataclass(frozen=True, slots=True)
class PersonAuthority:
    message: Authority
    command: Authority


def is_owner(settings: Settings, pairings: Pairings, person: Subject, agent_id: str) -> bool:
    """Whether a person is an owner, wherever they write.

    Raises:
        StoreUnavailable: nobody can tell.
    """
    rules = channel_rules(settings, person.channel, person.account_id)
    if rules is None or person.kind != "person":
        return False
    admission = pairings.admitted([person]).get(person)
    if admission is not None and admission.owner:
        return True
    return is_listed(owners_of(settings, rules, agent_id), person.channel, person.person_id)


def authority_of_person(
    settings: Settings, pairings: Pairings, person: Subject, agent_id: str
) -> PersonAuthority | None:
    """As in a direct chat with the agent; None if the person is not heard there.

    Raises:
        StoreUnavailable: nobody can tell.
    """
    rules = channel_rules(settings, person.channel, person.account_id)
    if rules is None or person.kind != "person":
        return None
    admission = pairings.admitted([person]).get(person)
    approved = Approvals(person=admission is not None, owner=admission is not None and admission.owner)
    verdict = in_direct_chat(rules, person.person_id, owners_of(settings, rules, agent_id), approved)
    if isinstance(verdict, NotHeard):
        return None
    commands = command_authority(verdict.authority, settings.commands.allow_from, person.channel, person.person_id)
    return PersonAuthority(verdict.authority, commands)
