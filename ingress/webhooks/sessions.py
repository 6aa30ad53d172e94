"""Which session a webhook reaches: one of its own, or one that the policy allows it to name."""

from __future__ import annotations

import hashlib
import re
import uuid

from ingress.errors import HttpError
from ingress.webhooks.calls import WantedSession
from openclaw_workers.config.resolve import default_agent_id, resolve_agent_id
from openclaw_workers.config.settings import Settings
from openclaw_workers.config.webhooks import HooksSettings
from openclaw_workers.domain.ids import SessionKey, new_uuid
from openclaw_workers.domain.session_key import Kind, classify, hook_key, main_key
from openclaw_workers.engine.routing.addressing import SessionRules, named_session

ANY = "*"
REFUSED_KINDS = (Kind.SUBAGENT, Kind.CRON)
"""Their turns belong to whoever spawned or scheduled them."""


class HookSessions:
    def __init__(self, settings: Settings, rules: SessionRules) -> None:
        self._settings = settings
        self._rules = rules

    @property
    def _policy(self) -> HooksSettings:
        return self._settings.hooks

    def for_event(self, wanted: WantedSession) -> SessionKey:
        """Where an event goes: the named session, otherwise the agent's main session.

        Raises:
            HttpError, BadInput: the request may not name it, or there is none of that name.
        """
        agent = self._agent(wanted)
        return self._named(wanted, agent) or main_key(agent, self._rules.main_key)

    def for_turn(self, wanted: WantedSession, once: str) -> SessionKey:
        """Where a turn runs: the named session, the default one, or one of its own.

        `once` is the same each time the request is sent; empty if it is not.

        Raises:
            HttpError, BadInput: as above.
        """
        agent = self._agent(wanted)
        named = self._named(wanted, agent)
        if named is not None:
            return named
        default = self._policy.default_session_key
        if default is not None and wanted.mode != "isolated":
            return named_session(default, self._rules, agent_id=agent)
        if wanted.mode == "persistent":
            return hook_key(agent, re.sub(r"[^a-z0-9]+", "-", wanted.name.lower()).strip("-") or "hook")
        return hook_key(agent, _uuid_of(once) if once else new_uuid())

    def _agent(self, wanted: WantedSession) -> str:
        if wanted.agent_id is None:
            return default_agent_id(self._settings)
        allowed = self._policy.allowed_agent_ids
        if allowed is not None and ANY not in allowed and wanted.agent_id not in allowed:
            raise HttpError(403, f"webhooks may not name agent {wanted.agent_id}", hint="hooks.allowedAgentIds")
        return resolve_agent_id(self._settings, explicit=wanted.agent_id)

    def _named(self, wanted: WantedSession, agent: str) -> SessionKey | None:
        if wanted.key is None:
            return None
        key = named_session(wanted.key, self._rules, agent_id=agent)
        if wanted.named_by != "owner":
            self._check_policy(key, wanted.named_by)
        return key

    def _check_policy(self, key: SessionKey, named_by: str) -> None:
        """A name from outside needs to be allowed, and a payload that is part of it needs limits."""
        prefixes = self._policy.allowed_session_key_prefixes
        if named_by == "request" and not self._policy.allow_request_session_key:
            raise HttpError(403, "webhooks may not name their session", hint="hooks.allowRequestSessionKey allows it")
        if named_by == "template" and not prefixes:
            hint = "set hooks.allowedSessionKeyPrefixes, such as hook:"
            raise HttpError(403, "fields of a payload may not name the session", hint=hint)
        short = key.split(":", 2)[2]
        is_allowed = not prefixes or any(key.startswith(each) or short.startswith(each) for each in prefixes)
        if not is_allowed or classify(key, main_key=self._rules.main_key) in REFUSED_KINDS:
            raise HttpError(
                403, f"webhooks may not use {key}", hint="hooks.allowedSessionKeyPrefixes lists what they may"
            )


def _uuid_of(once: str) -> str:
    return str(uuid.UUID(bytes=hashlib.sha256(once.encode(errors="replace")).digest()[:16]))
