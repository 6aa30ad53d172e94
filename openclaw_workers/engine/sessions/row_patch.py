"""What a person sets in a session: checked as the slash commands do, and turned into fields of its row."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from openclaw_workers.config.model_names import find_model, find_profile
from openclaw_workers.config.settings import Settings
from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.domain.messages import Authority
from openclaw_workers.domain.session_key import agent_of
from openclaw_workers.engine.intake.commands import models as commands
from openclaw_workers.engine.routing.session_labels import check_label
from openclaw_workers.errors import BadInput

OWNERS_ONLY = ("sendPolicy", "authProfile")
_LEVELS = {level.column: level for level in (commands.think, commands.reasoning, commands.verbose, commands.usage)}
_PLAIN = ("sendPolicy", "groupActivation")


def row_fields(
    settings: Settings, session: SessionKey, wanted: Mapping[str, str | None], authority: Authority
) -> dict[str, str]:
    """Fields of the row, by the names of the API; None clears what was set.

    Raises:
        BadInput: a value is not known, or this authority may not set it.
    """
    fields: dict[str, str] = {}
    for name, value in wanted.items():
        if name in OWNERS_ONLY and not authority.covers(Authority.OWNER):
            raise BadInput(f"{name} needs the authority of {Authority.OWNER}")
        fields |= _SETTERS[name](settings, session, name, (value or "").strip())
    return fields


def _plain(_: Settings, __: SessionKey, name: str, value: str) -> dict[str, str]:
    return {name: value}


def _label(_: Settings, __: SessionKey, name: str, value: str) -> dict[str, str]:
    return {name: check_label(value) if value else ""}


def _level(_: Settings, __: SessionKey, name: str, value: str) -> dict[str, str]:
    return {name: _LEVELS[name].checked(value) if value else ""}


def _model(settings: Settings, _: SessionKey, __: str, value: str) -> dict[str, str]:
    """The model alone: the key has a field of its own, for owners."""
    provider, _slash, model = find_model(settings, value).partition("/") if value else ("", "", "")
    return {"providerOverride": provider, "modelOverride": model, "authProfileOverride": ""}


def _auth_profile(settings: Settings, session: SessionKey, _: str, value: str) -> dict[str, str]:
    return {commands.PIN: find_profile(settings, value, agent_of(session)) if value else ""}


_Setter = Callable[[Settings, SessionKey, str, str], dict[str, str]]
_SETTERS: dict[str, _Setter] = {
    **dict.fromkeys(_PLAIN, _plain),
    **dict.fromkeys(_LEVELS, _level),
    "label": _label,
    "model": _model,
    "authProfile": _auth_profile,
}
