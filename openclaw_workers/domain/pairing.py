"""Who may write to the agents from a chat channel: names, requests, and those who were let in or refused."""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

from openclaw_workers.domain.inbound import DEFAULT_ACCOUNT
from openclaw_workers.errors import BadInput

ALPHABET: Final = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
"""Without 0, O, 1 and I, which people confuse."""
CODE_LENGTH: Final = 8

SubjectKind = Literal["person", "group", "member"]


def new_code() -> str:
    return "".join(secrets.choice(ALPHABET) for _ in range(CODE_LENGTH))


def as_code(text: str) -> str | None:
    """The pairing code that a person typed; None if it is none."""
    code = text.strip().upper()
    return code if len(code) == CODE_LENGTH and set(code) <= set(ALPHABET) else None


@dataclass(frozen=True, slots=True)
class Subject:
    """Somebody who may be let in: a person in direct chats, a group, or one member of a group.

    Its written form is `telegram:<person>`, `telegram:group:<group>` or `telegram:group:<group>:<person>`; another
    account than the default one follows the channel: `telegram/<account>:<person>`.
    """

    channel: str
    account_id: str = DEFAULT_ACCOUNT
    person_id: str = ""
    group_id: str = ""

    @property
    def kind(self) -> SubjectKind:
        if not self.group_id:
            return "person"
        return "member" if self.person_id else "group"

    @property
    def prefix(self) -> str:
        """The start of all subjects of this account."""
        account = "" if self.account_id == DEFAULT_ACCOUNT else f"/{self.account_id}"
        return f"{self.channel}{account}:"

    def __str__(self) -> str:
        group = ["group", self.group_id] if self.group_id else []
        return self.prefix + ":".join([*group, *([self.person_id] if self.person_id else [])])


_SUBJECT = re.compile(r"([a-z][a-z0-9_-]*)(?:/([a-z0-9][a-z0-9_-]*))?:(?:group:([^:\s]+)(?::([^:\s]+))?|([^:\s]+))")


def parse_subject(text: str) -> Subject:
    """The subject that a written form names.

    Raises:
        BadInput: it is not in that form.
    """
    found = _SUBJECT.fullmatch(text.strip())
    if found is None:
        raise BadInput(
            f"{text!r} names neither a pairing code nor somebody to let in",
            hint="write the code, telegram:<user id>, telegram:group:<chat id> or telegram:group:<chat id>:<user id>; "
            "`ocw pairing list` shows them",
        )
    channel, account, group, member, person = found.groups(default="")
    return Subject(channel, account or DEFAULT_ACCOUNT, person or member, group)


class _Record(BaseModel):
    # A newer version may have written the record during a rolling deploy: ignore unknown fields.
    model_config = ConfigDict(
        alias_generator=to_camel, populate_by_name=True, frozen=True, extra="ignore", defer_build=True
    )

    subject: str
    kind: SubjectKind
    channel: str
    account_id: str
    person_id: str = ""
    group_id: str = ""
    name: str = ""
    """The name of the person or the title of the group, as the channel gave it."""


class Admission(_Record):
    """Somebody who was let in."""

    owner: bool = False
    approved_at: int


class PairingRequest(_Record):
    """A person who has a code and waits for an approval."""

    code: str
    requested_at: int
    expires_at: int


class Refusal(_Record):
    """Somebody who wrote and was not heard."""

    reason: str
    count: int
    first_at: int
    last_at: int
