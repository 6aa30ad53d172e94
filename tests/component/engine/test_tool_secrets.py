"""Secrets of the configuration reach the tools that they name, and nothing that is shown, stored or logged."""

from __future__ import annotations

import base64
import json

import pytest

from openclaw_workers import redaction
from openclaw_workers.config.settings import Settings
from openclaw_workers.domain.transcript import ToolResultEntry
from openclaw_workers.engine.stores import stores_on
from openclaw_workers.redaction import StreamMask, mask_known, mask_secrets, protect
from tests.component.engine.conftest import SESSION, EngineHarness, MakeEngine
from tests.component.engine.session_steps import text
from tests.support.programs import call, execute, say

PLANTED = "planted-7f3a-value"


@pytest.fixture(autouse=True)
def _forgets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redaction, "_known", redaction._KnownSecrets())


def everything(engine: EngineHarness) -> str:
    """All of Redis as text."""
    redis, found = engine.stores.redis, []
    for key in redis.scan_iter(f"{engine.stores.keys.namespace}:*"):
        match str(redis.type(key)):
            case "hash":
                found.append(str(redis.hgetall(key)))
            case "list":
                found.append(str(redis.lrange(key, 0, -1)))
            case "zset":
                found.append(str(redis.zrange(key, 0, -1)))
            case "stream":
                found.append(str(redis.xrange(key)))
    return "\n".join(found)


def results(engine: EngineHarness) -> list[str]:
    return [entry.content[0].text for entry in engine.log(SESSION) if isinstance(entry, ToolResultEntry)]


def test_a_named_tool_gets_the_secret_and_nobody_sees_it(make_engine: MakeEngine) -> None:
    engine = make_engine({"secrets": {"DEPLOY_KEY": {"value": PLANTED, "tools": ["group:runtime"]}}})
    steps = [
        call(execute('echo "${#DEPLOY_KEY}"; echo "$DEPLOY_KEY"; echo "error: $DEPLOY_KEY" >&2')),
        call(execute('printf %s "$DEPLOY_KEY" | base64')),
        call(execute('echo "$DEPLOY_KEY" > note.txt; cat note.txt')),
    ]
    engine.say(text(*steps, say(f"it is {PLANTED}")))
    engine.work()

    assert str(len(PLANTED)) in results(engine)[0]
    assert "***" in results(engine)[0]
    stored = everything(engine).replace(json.dumps(text(*steps, say(f"it is {PLANTED}"))), "")
    encoded = base64.b64encode(PLANTED.encode()).decode()
    answers = "\n".join([*results(engine), *(entry.model_dump_json() for entry in engine.log()[1:])])
    assert PLANTED not in answers
    assert encoded not in answers
    assert "it is ***" in stored


def test_every_process_that_opens_the_stores_masks_them(make_engine: MakeEngine) -> None:
    """Also one that runs no turns: the ingress, a service worker, a command."""
    stores_on(make_engine().stores.redis, Settings.model_validate({"secrets": {"DEPLOY_KEY": {"value": PLANTED}}}))

    assert mask_known(f"it is {PLANTED}") == "it is ***"


def test_other_tools_and_unnamed_secrets_get_nothing(make_engine: MakeEngine) -> None:
    secrets = {"A_KEY": {"value": PLANTED, "tools": ["web_fetch"]}, "B_KEY": {"value": PLANTED}}
    engine = make_engine({"secrets": secrets})
    engine.say(text(call(execute('echo "[$A_KEY$B_KEY]"')), say("done")))
    engine.work()

    assert "[]" in results(engine)[0]


def test_secrets_anywhere_in_the_configuration_are_masked(make_engine: MakeEngine) -> None:
    engine = make_engine({"models": {"providers": {"openai": {"apiKey": "plain-key-of-provider"}}}})
    engine.say(text(call(execute("echo plain-key-of-provider")), say("done")))
    engine.work()

    assert "plain-key-of-provider" not in results(engine)[0]


def test_values_are_masked_in_logs_and_short_ones_are_left_alone() -> None:
    protect([PLANTED, "abc", 'with "quotes" in it'])

    assert mask_secrets(f"at https://x/?q={PLANTED} abc") == "at https://x/?q=*** abc"
    assert mask_known(json.dumps({"a": 'with "quotes" in it'})) == '{"a": "***"}'


def test_a_secret_is_masked_in_the_text_that_is_streamed_also_across_pieces(make_engine: MakeEngine) -> None:
    engine = make_engine({"secrets": {"DEPLOY_KEY": {"value": PLANTED, "tools": []}}})
    said = {"text": f"it is {PLANTED}, and plan ends here: plant", "chunks": 12, "chunkDelayMs": 100}
    engine.say(text(said))
    engine.work()

    deltas = [event.data["text"] for event in engine.stores.reader.events(SESSION, "0") if event.type == "text.delta"]
    assert len(deltas) > 1
    assert "".join(deltas).startswith("it is ***, and plan")
    assert "planted" not in "".join(deltas)


def test_pieces_are_put_together_and_nothing_is_lost() -> None:
    protect(["abcabd1", "planted"])
    for word in ("x abcabd1 y", "abcabc", "plan", "planted", "plaplanted!", "abcabcabd1planted"):
        mask = StreamMask()
        streamed = "".join([*map(mask.feed, word), mask.rest()])
        assert streamed == mask_known(word)


def test_a_plain_message_that_answers_a_question_is_masked(make_engine: MakeEngine) -> None:
    engine = make_engine({"secrets": {"DEPLOY_KEY": {"value": PLANTED, "tools": []}}})
    engine.say(text(call({"tool": "ask_user", "input": {"question": "Which key?"}}), say("thanks")))
    engine.work()
    (question,) = engine.stores.questions.open()

    engine.say(f"it is {PLANTED}")
    engine.work()

    answered = engine.stores.questions.get(question.id)
    assert answered is not None
    assert answered.answer == "it is ***"
    assert "it is ***" in results(engine)[-1]
    assert PLANTED not in "\n".join(entry.model_dump_json() for entry in engine.log()[1:])
    assert PLANTED not in str(engine.stores.reader.events(SESSION, "0"))
