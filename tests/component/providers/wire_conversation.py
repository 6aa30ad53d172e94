"""Short ways to hold a conversation with the wire-level server through the real SDKs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from pydantic import SecretStr

from openclaw_workers.cancel import Cancel
from openclaw_workers.config.models import Api, ModelsSettings
from openclaw_workers.domain.tool_spec import ToolSpec
from openclaw_workers.domain.transcript import AssistantEntry, Attachment, TextBlock, TranscriptEntry, UserEntry
from openclaw_workers.providers.base import Answer, ModelRequest, StreamEvent
from openclaw_workers.providers.endpoint import Endpoint
from openclaw_workers.providers.registry import Providers
from openclaw_workers.providers.remote import RemoteProvider
from tests.support.wire import WireServer
from tests.unit.providers.offline_conversation import answer_of, until_answered, user

KEY: Final = "key-4711-secret"
APIS: Final[tuple[Api, ...]] = ("anthropic-messages", "openai-completions", "openai-responses")
READ: Final = ToolSpec("read", "Reads a file.", {"type": "object", "properties": {"path": {"type": "string"}}})


def base_url(server: WireServer, api: str) -> str:
    return server.url if api == "anthropic-messages" else server.openai_url


class Wire:
    """One model behind one protocol."""

    def __init__(
        self,
        server: WireServer,
        api: Api,
        *,
        model: str = "m",
        provider_settings: Mapping[str, Any] | None = None,
        **model_settings: Any,
    ) -> None:
        self.server = server
        self.model = model
        listed = {"id": model, "reasoning": True, "input": ["text", "image"], "maxTokens": 40_000, **model_settings}
        given = {
            "baseUrl": base_url(server, api),
            "api": api,
            "apiKey": KEY,
            "models": [listed],
            **(provider_settings or {}),
        }
        settings = ModelsSettings.model_validate({"providers": {"wired": given}})
        provider = Providers(settings).get("wired")
        assert isinstance(provider, RemoteProvider)
        self.provider = provider

    @property
    def endpoint(self) -> Endpoint:
        return self.provider.endpoints[0]

    def with_key(self, key: str) -> Endpoint:
        return replace(self.endpoint, profile_id=key, api_key=SecretStr(key))

    def request(self, *messages: TranscriptEntry | str, **fields: Any) -> ModelRequest:
        entries = [user(each) if isinstance(each, str) else each for each in messages]
        return ModelRequest(self.model, fields.pop("system", "You are terse."), entries, [READ], **fields)

    def ask(self, *messages: TranscriptEntry | str, cancel: Cancel | None = None, **fields: Any) -> list[StreamEvent]:
        request = self.request(*(messages or ("hello",)), **fields)
        return until_answered(lambda: self.provider.stream(request, cancel or Cancel()))

    def answer(self, *messages: TranscriptEntry | str, **fields: Any) -> Answer:
        return answer_of(self.ask(*messages, **fields))

    def entry(self, answer: Answer) -> AssistantEntry:
        """An answer as the loop records it."""
        return AssistantEntry(
            content=answer.content,
            provider="wired",
            api=self.provider.api_of(self.model),
            model=self.model,
            usage=answer.usage,
            stop_reason=answer.stop_reason,
        )

    @property
    def sent(self) -> dict[str, Any]:
        """The body of the last request."""
        return self.server.requests[-1].body


def message_kinds(wire: Wire) -> list[str]:
    """The kinds of messages or items in the last request, in order."""
    items = wire.sent["input"] if "input" in wire.sent else wire.sent["messages"]
    return [item.get("type") or item["role"] for item in items]


def parts_sent(wire: Wire, attached: list[Attachment]) -> list[dict[str, Any]]:
    """How a message with these files was sent. Another message follows it, as in a longer conversation."""
    wire.ask(UserEntry(content=[TextBlock(text="see")], attachments=attached), "and?")
    assert wire.server.requests[-1].problems == []
    items = wire.sent["input"] if "input" in wire.sent else wire.sent["messages"]
    content: list[dict[str, Any]] = next(item for item in items if item["role"] == "user")["content"]
    return content[: 1 + len(attached)]
