"""Which agent and which session a request is for."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Mapping

from ingress.auth.principal import Principal
from ingress.openai.errors import ApiError
from ingress.openai.requests import ChatRequest
from openclaw_workers.config.resolve import agent_ids, default_agent_id, resolve_agent_id
from openclaw_workers.config.settings import Settings
from openclaw_workers.domain.ids import SessionKey, new_uuid
from openclaw_workers.domain.session_key import DmScope, Kind, ParsedKey, classify, dm_key
from openclaw_workers.engine.routing.addressing import SessionRules, named_session

MODEL = "openclaw"
DEFAULT = "default"
SESSION_HEADER = "x-openclaw-session-key"
OPEN_WEBUI_HEADER = "x-openwebui-chat-id"
CHANNEL = "openai"
"""The channel of these messages: in the routing of a session, and in the key of one that `user` names."""

REFUSED_KINDS = (Kind.SUBAGENT, Kind.CRON)
"""Their turns belong to whoever spawned or scheduled them."""


def model_ids(settings: Settings, principal: Principal) -> list[str]:
    """What `/v1/models` lists: the default agent under two names, then every agent that the token may see."""
    seen = [agent for agent in agent_ids(settings) if principal.agent in (None, agent)]
    return list(dict.fromkeys([MODEL, f"{MODEL}/{DEFAULT}", *(f"{MODEL}/{agent}" for agent in seen)]))


def agent_for(model: str, settings: Settings, principal: Principal) -> str:
    """The agent that a model id names; empty if it names the default one.

    Raises:
        ApiError: there is no such model.
    """
    if model == MODEL or (model == f"{MODEL}/{DEFAULT}" and DEFAULT not in agent_ids(settings)):
        return principal.agent or ""
    if model not in model_ids(settings, principal):
        listed = ", ".join(model_ids(settings, principal))
        raise ApiError(
            404, f"there is no model {model!r}; expected one of {listed}", code="model_not_found", param="model"
        )
    return model.removeprefix(f"{MODEL}/")


def session_named(
    request: ChatRequest, headers: Mapping[str, str], agent: str, settings: Settings, rules: SessionRules
) -> SessionKey | None:
    """The session that a request continues; None for a stateless one.

    Raises:
        BadInput: the key fits no form, or is another agent's.
        ApiError: it is a session that only its owner speaks to.
    """
    if wanted := headers.get(SESSION_HEADER, "").strip():
        agent = resolve_agent_id(settings, explicit=agent, session_key=wanted)
        key = named_session(wanted, rules, agent_id=agent)
        if classify(key, main_key=rules.main_key) in REFUSED_KINDS:
            raise ApiError(400, f"{key} cannot be used here", code="session_key_refused", param=SESSION_HEADER)
        return key
    agent = agent or default_agent_id(settings)
    if chat := headers.get(OPEN_WEBUI_HEADER, "").strip():
        return dm_key(DmScope.PER_CHANNEL_PEER, agent_id=agent, channel="openwebui", peer=chat)
    if request.user and request.user.strip():
        return dm_key(DmScope.PER_CHANNEL_PEER, agent_id=agent, channel=CHANNEL, peer=request.user.strip())
    return None


def own_session(agent: str, settings: Settings, once: str) -> SessionKey:
    """A session for one stateless request. `once` is the same each time the request is sent; empty if it is not."""
    ident = str(uuid.UUID(bytes=hashlib.sha256(once.encode(errors="replace")).digest()[:16])) if once else new_uuid()
    path = (CHANNEL, ident)
    return ParsedKey(agent_id=agent or default_agent_id(settings), kind=Kind.OTHER, path=path).key
