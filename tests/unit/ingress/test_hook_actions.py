"""What a mapping sets reaches the message that starts the turn, and hooks are served where they are configured."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
from starlette.routing import Route as Served

from ingress.context import IngressContext
from ingress.errors import HttpError
from ingress.webhooks.actions import HookActions
from ingress.webhooks.calls import AgentCall, mapped_call
from ingress.webhooks.routes import hook_routes
from ingress.webhooks.templates import Payload
from openclaw_workers.config.settings import Settings
from openclaw_workers.config.webhooks import HookMappingSettings
from openclaw_workers.domain.accepted import Queued
from openclaw_workers.domain.ids import MessageId, SessionId, SessionKey
from openclaw_workers.domain.messages import InboundMessage, Route
from openclaw_workers.domain.session_row import SessionEntry
from openclaw_workers.engine.routing.addressing import SessionRules

TOKEN = "a-token-for-webhooks"


class Recorder:
    """Stands for the context: it has one session, and keeps what is accepted."""

    def __init__(self, *, waiting: int = 0, **hooks: Any) -> None:
        self.settings = Settings.model_validate({"hooks": hooks, "agents": {"list": [{"id": "main"}, {"id": "work"}]}})
        self.session_rules = SessionRules()
        self.accepted: list[InboundMessage] = []
        self.intake = SimpleNamespace(post=self._post)
        control = SimpleNamespace(waiting=waiting)
        self.stores = SimpleNamespace(
            reader=SimpleNamespace(session=self._session, control=lambda key: control),
        )

    def _post(self, message: InboundMessage) -> Queued:
        self.accepted.append(message)
        return Queued(message.id, message.session_key, None, "1-0", None)

    def _session(self, key: SessionKey) -> SessionEntry:
        return SessionEntry(
            session_id=SessionId("s"),
            session_key=key,
            agent_id=key.split(":")[1],
            created_at=0,
            updated_at=0,
            session_started_at=0,
            last_channel="telegram",
            last_to="7",
        )


def start(recorder: Recorder, **mapping: Any) -> InboundMessage:
    """What is accepted for a payload, by a mapping."""
    settings = HookMappingSettings.model_validate({"match": {"path": "github"}, **mapping})
    call = mapped_call(settings, Payload({"n": 1}, {}, "github", ""))
    assert isinstance(call, AgentCall)
    HookActions(cast("IngressContext", recorder)).start_turn(call, "")
    return recorder.accepted[-1]


def test_every_field_of_a_mapping_reaches_the_turn() -> None:
    message = start(
        Recorder(),
        name="GitHub",
        messageTemplate="Look at #{{n}}.",
        agentId="work",
        sessionKey="notes",
        channel="telegram",
        to=42,
        accountId="bot",
        model="offline/demo",
        thinking="high",
        timeoutSeconds=60,
    )

    assert message.text == "Look at #1."
    assert message.sender == "webhook GitHub"
    assert message.session_key == "agent:work:notes"
    assert message.route == Route(channel="telegram", to="42", account_id="bot")
    assert (message.model, message.thinking, message.timeout_seconds) == ("offline/demo", "high", 60)


def test_an_answer_is_delivered_where_the_main_session_was_spoken_to_unless_it_is_not_wanted() -> None:
    assert start(Recorder()).route == Route(channel="telegram", to="7")
    assert start(Recorder(), deliver=False).route == Route(channel="hook")


def test_a_session_with_a_full_queue_takes_no_more() -> None:
    with pytest.raises(HttpError) as refused:
        start(Recorder(waiting=20))
    assert refused.value.status == 429


def test_a_repeat_has_the_same_message_id() -> None:
    recorder = Recorder()
    call = AgentCall("webhook x", "text", mapped("x").session)
    for once in ("x\0k", "x\0k", ""):
        HookActions(cast("IngressContext", recorder)).start_turn(call, once)
    ids = [MessageId(message.id) for message in recorder.accepted]
    assert ids[0] == ids[1] != ids[2]


def mapped(name: str) -> AgentCall:
    call = mapped_call(HookMappingSettings.model_validate({"match": {"path": name}}), Payload({}, {}, name, ""))
    assert isinstance(call, AgentCall)
    return call


def test_hooks_are_served_only_if_they_are_enabled_and_where_they_are_configured() -> None:
    assert hook_routes(cast("IngressContext", Recorder(token=TOKEN))) == []
    (route,) = hook_routes(cast("IngressContext", Recorder(enabled=True, token=TOKEN, path="in/coming/")))
    assert isinstance(route, Served)
    assert route.path == "/in/coming/{name:path}"
