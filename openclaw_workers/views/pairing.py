"""People and groups of chat channels as JSON: who was let in, who asks to be, and who was refused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from openclaw_workers.domain.inbound import DEFAULT_ACCOUNT
from openclaw_workers.domain.pairing import Admission, PairingRequest, Refusal

WHO = ("subject", "kind", "channel", "accountId", "personId", "groupId", "name")

_BY_SETTING = {
    "dm-disabled": "set {path}.dmPolicy to pairing or allowlist first",
    "groups-disabled": "set {path}.groupPolicy to allowlist first",
    "group-disabled": "set {path}.groups.{group}.enabled to true",
}
"""What lets somebody in whom a setting keeps out."""


def pairing_json(
    admissions: Sequence[Admission], requests: Sequence[PairingRequest], refusals: Sequence[Refusal]
) -> dict[str, Any]:
    """All of it; who has a pairing code is not listed among the refused too."""
    asking = {request.subject for request in requests}
    return {
        "requests": [request_json(each) for each in requests],
        "admitted": [admission_json(each) for each in admissions],
        "refused": [refusal_json(each) for each in refusals if each.subject not in asking],
    }


def admission_json(admission: Admission) -> dict[str, Any]:
    return {**_who(admission), "owner": admission.owner, "approvedAt": admission.approved_at}


def request_json(request: PairingRequest) -> dict[str, Any]:
    times = {"createdAt": request.requested_at, "expiresAt": request.expires_at}
    return {**_who(request), "code": request.code, **times, "command": f"ocw pairing approve {request.code}"}


def refusal_json(refusal: Refusal) -> dict[str, Any]:
    facts = {"count": refusal.count, "firstAt": refusal.first_at, "lastAt": refusal.last_at}
    return {**_who(refusal), "reason": refusal.reason, **facts, **_remedy(refusal)}


def _remedy(refusal: Refusal) -> dict[str, Any]:
    """The command that lets somebody in; null where only a setting does."""
    setting = _BY_SETTING.get(refusal.reason)
    if setting is None:
        return {"command": f"ocw pairing approve {refusal.subject}", "setting": None}
    account = "" if refusal.account_id == DEFAULT_ACCOUNT else f".accounts.{refusal.account_id}"
    path = f"channels.{refusal.channel}{account}"
    return {"command": None, "setting": setting.format(path=path, group=refusal.group_id)}


def _who(record: Admission | PairingRequest | Refusal) -> dict[str, Any]:
    dumped = record.model_dump(by_alias=True)
    return {name: dumped[name] or None for name in WHO}
