"""Who may write from chat channels: list, let in, let in no longer."""

from __future__ import annotations

from typing import Any

from ingress.api.models.inputs import Name
from ingress.api.table import Call, Input, NoInput
from openclaw_workers.engine.access.pairing_approval import PairingService
from openclaw_workers.engine.client_graph import pairing_of
from openclaw_workers.views.pairing import admission_json, pairing_json


class ApproveInput(Input):
    who: Name
    """A pairing code, or telegram:ID, telegram:group:ID, telegram:group:ID:ID."""
    share_session: bool = False
    """Let a second person into the conversation of the first."""


class RevokeInput(Input):
    who: Name


def list_pairings(call: Call[NoInput, NoInput]) -> dict[str, Any]:
    service = _service(call)
    return {"ok": True, **pairing_json(service.admissions(), service.requests(), service.refusals())}


def approve(call: Call[NoInput, ApproveInput]) -> dict[str, Any]:
    admitted = _service(call).approve(call.body.who, share_session=call.body.share_session)
    return {"ok": True, **admission_json(admitted)}


def revoke(call: Call[NoInput, RevokeInput]) -> dict[str, Any]:
    return {"ok": True, "subject": _service(call).revoke(call.body.who)}


def _service(call: Call[Any, Any]) -> PairingService:
    return pairing_of(call.context.stores)
