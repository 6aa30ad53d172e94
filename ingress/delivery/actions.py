"""What is done in a chat: most often a message is sent, but it may also be changed, removed or reacted to."""

from __future__ import annotations

from ingress.channels.adapter import Adapter, CreatesTopics, Deletes, Edits, Part, Reacts, SendRefused, SentPart
from openclaw_workers.domain.outgoing import OutgoingAction, OutgoingMessage


def parts_of(adapter: Adapter, message: OutgoingMessage) -> list[Part]:
    """The calls to the channel that an outgoing message needs."""
    match message.action:
        case OutgoingAction.SEND:
            return adapter.render(message)
        case OutgoingAction.EDIT:
            return adapter.render(message)[:1]
        case _:
            return [Part(payload={"action": message.action})]


async def perform(adapter: Adapter, message: OutgoingMessage, part: Part) -> SentPart:
    """Do it once.

    Raises:
        SendRefused: the channel cannot do this, or said no.
        SendLater, Exception: as `Adapter.send`.
    """
    able, route, target = adapter.capabilities, message.route, message.target_id
    match message.action:
        case OutgoingAction.SEND:
            return await adapter.send(route, part)
        case OutgoingAction.EDIT if able.edit and isinstance(adapter, Edits):
            await adapter.edit(route, target, part)
        case OutgoingAction.DELETE if able.delete and isinstance(adapter, Deletes):
            await adapter.delete(route, target)
        case OutgoingAction.REACT if able.react and isinstance(adapter, Reacts):
            await adapter.react(route, target, message.emoji)
        case OutgoingAction.TOPIC if able.topics and isinstance(adapter, CreatesTopics):
            return SentPart(await adapter.create_topic(route, message.title))
        case _:
            raise SendRefused(f"{adapter.channel} cannot do this: {message.action}", permanent=True)
    return SentPart(target)
