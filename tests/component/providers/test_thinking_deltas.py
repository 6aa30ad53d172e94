"""What a model thinks streams by itself, before the answer and apart from it, in each protocol that tells it."""

from __future__ import annotations

import pytest

from openclaw_workers.config.models import Api
from openclaw_workers.providers.base import TextDelta, ThinkingDelta
from tests.component.providers.wire_conversation import Wire
from tests.support.wire import Reply, WireServer
from tests.unit.providers.offline_conversation import text_of


@pytest.mark.parametrize("api", ["anthropic-messages", "openai-completions", "openai-responses"])
def test_thinking_streams_before_the_text(server: WireServer, api: Api) -> None:
    line = Wire(server, api)
    server.script.append(Reply("It is four.", thinking="two and two, that is"))
    events = line.ask("sum", thinking="low")
    thoughts = [event.text for event in events if isinstance(event, ThinkingDelta)]
    kinds = [type(event) for event in events if isinstance(event, ThinkingDelta | TextDelta)]
    assert "".join(thoughts) == "two and two, that is"
    assert len(thoughts) > 1
    assert kinds == sorted(kinds, key=lambda kind: kind is TextDelta)
    assert text_of(events) == "It is four."
