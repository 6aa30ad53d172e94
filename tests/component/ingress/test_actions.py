"""What is done in a chat besides sending, and what plugins do to a message before it goes out."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

import pytest

from ingress.channels.adapter import Capabilities, Part, SendRefused
from ingress.delivery.actions import parts_of, perform
from ingress.delivery.sending_hook import HeldBack, through_hooks
from openclaw_workers.domain.messages import Route
from openclaw_workers.domain.outgoing import OutgoingAction, OutgoingKind, OutgoingMessage
from openclaw_workers.hooks import Hooks, register
from tests.component.ingress.conftest import Delivery
from tests.support.fake_adapter import FakeAdapter

CHAT = Route(channel="telegram", to="1", account_id="bot")


@dataclass
class AbleAdapter(FakeAdapter):
    """Also edits, deletes, reacts and creates topics."""

    done: list[tuple[str, ...]] = field(default_factory=list)

    async def edit(self, route: Route, message_id: str, part: Part) -> None:
        self.done.append(("edit", message_id, str(part.payload["text"])))

    async def delete(self, route: Route, message_id: str) -> None:
        self.done.append(("delete", message_id))

    async def react(self, route: Route, message_id: str, emoji: str) -> None:
        self.done.append(("react", message_id, emoji))

    async def create_topic(self, route: Route, name: str) -> str:
        self.done.append(("topic", name))
        return "77"


def message(action: OutgoingAction, **more: Any) -> OutgoingMessage:
    return OutgoingMessage(id="m", kind=OutgoingKind.MESSAGE, action=action, route=CHAT, target_id="5", **more)


@pytest.mark.parametrize(
    ("action", "more", "done", "sent"),
    [
        (OutgoingAction.EDIT, {"text": "new"}, ("edit", "5", "new"), "5"),
        (OutgoingAction.DELETE, {}, ("delete", "5"), "5"),
        (OutgoingAction.REACT, {"emoji": "👍"}, ("react", "5", "👍"), "5"),
        (OutgoingAction.TOPIC, {"title": "News"}, ("topic", "News"), "77"),
    ],
)
def test_each_action_is_one_call_to_the_channel(
    action: OutgoingAction, more: dict[str, str], done: tuple[str, ...], sent: str
) -> None:
    adapter = AbleAdapter(capabilities=Capabilities(edit=True, delete=True, react=True, topics=True))
    wanted = message(action, **more)
    (part,) = parts_of(adapter, wanted)

    assert asyncio.run(perform(adapter, wanted, part)).message_id == sent
    assert adapter.done == [done]


@pytest.mark.parametrize("action", [each for each in OutgoingAction if each is not OutgoingAction.SEND])
def test_what_the_adapter_does_not_declare_is_refused_for_good(action: OutgoingAction) -> None:
    adapter = AbleAdapter()
    with pytest.raises(SendRefused, match="cannot do this") as refused:
        asyncio.run(perform(adapter, message(action, text="x"), Part(payload={"text": "x"})))
    assert refused.value.permanent
    assert adapter.done == []


def test_a_hook_changes_a_message_or_holds_it_back(delivery: Delivery, no_hooks: None) -> None:
    def polite(event: dict[str, Any]) -> dict[str, Any]:
        return {"cancel": True, "reason": "rude"} if "fool" in event["text"] else {"text": event["text"] + ", please"}

    register("message_sending", polite)
    delivery.put("come", "you fool", "go")
    delivery.start(finish=lambda each: through_hooks(each, Hooks()))
    delivery.wait_for("go", "sent")

    assert delivery.adapter.texts == ["come, please", "go, please"]
    entry, _ = delivery.outbox.get("you fool")
    assert (entry.state, entry.error) == ("failed", "held back: rude")


def test_a_hook_that_fails_holds_the_message_back_unless_it_may_pass(no_hooks: None) -> None:
    register("message_sending", lambda event: 1 / 0, plugin="broken")
    sent = message(OutgoingAction.SEND, text="x")

    with pytest.raises(HeldBack, match="of broken failed"):
        through_hooks(sent, Hooks())
    assert through_hooks(sent, Hooks(failure="pass")) == sent
