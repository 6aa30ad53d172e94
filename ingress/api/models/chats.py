"""What endpoints about chats and channels answer, for the OpenAPI document. docs/cli.md describes the fields."""

from __future__ import annotations

from ingress.api.models.answers import Done, Json, Shape


class Outgoing(Shape):
    id: str
    kind: str
    state: str
    channel: str
    to: str
    session_key: str | None
    run_id: str | None
    preview: str
    parts: int
    parts_sent: int
    error: str | None


class OutboxAnswer(Done):
    messages: list[Outgoing]
    senders: list[Json]


class OutgoingAnswer(Outgoing):
    ok: bool


class QuestionsAnswer(Done):
    questions: list[Json]
    allowed: list[Json]


class DecidedAnswer(Done):
    id: str
    text: str


class PairingAnswer(Done):
    requests: list[Json]
    admitted: list[Json]
    refused: list[Json]


class AdmissionAnswer(Done):
    subject: str


class ChannelAccount(Shape):
    name: str
    channel: str
    account_id: str
    enabled: bool
    has_token: bool
    receives: str
    receiver: str | None
    last_update_at: int | None
    last_error: str | None


class ChannelsAnswer(Done):
    channels: list[ChannelAccount]


class ChannelAnswer(ChannelAccount):
    ok: bool
    refused: list[Json]
    refused_updates: list[Json]
    blocked_chats: list[Json]


class ChannelTestAnswer(Done):
    name: str
    sent: str | None
