"""`/usage` in a chat: the line below a reply."""

from __future__ import annotations

import pytest
import redis as redis_py

from ingress.delivery.usage_footer import with_usage
from openclaw_workers.domain.messages import Route
from openclaw_workers.domain.outgoing import OutgoingKind, OutgoingMessage
from openclaw_workers.store.keys import Keys
from openclaw_workers.store.reader import Reader

SESSION = "agent:main:main"
RUN = {
    "id": "run-1",
    "session_key": SESSION,
    "state": "ok",
    "model": "p/m",
    "cost": "0.5",
    "usage_input": "3",
    "usage_output": "2",
}


@pytest.mark.parametrize(
    ("level", "kind", "run", "text"),
    [
        ("tokens", OutgoingKind.REPLY, "run-1", "hello\n\n_3 tokens in, 2 out_"),
        ("tokens", OutgoingKind.ANNOUNCE, "run-1", "hello\n\n_3 tokens in, 2 out_"),
        ("full", OutgoingKind.REPLY, "run-1", "hello\n\n_3 tokens in, 2 out, $0.5000, p/m_"),
        ("off", OutgoingKind.REPLY, "run-1", "hello"),
        ("", OutgoingKind.REPLY, "run-1", "hello"),
        ("tokens", OutgoingKind.NOTICE, "run-1", "hello"),
        ("tokens", OutgoingKind.REPLY, "run-gone", "hello"),
        ("tokens", OutgoingKind.REPLY, "", "hello"),
    ],
)
def test_the_session_s_level_decides(
    redis_client: redis_py.Redis, level: str, kind: OutgoingKind, run: str, text: str
) -> None:
    keys = Keys("usage")
    redis_client.hset(keys.row(SESSION), "responseUsage", level)
    for name, value in RUN.items():
        redis_client.hset(keys.run("run-1"), name, value)
    message = OutgoingMessage(
        id="a", kind=kind, route=Route(channel="telegram"), session_key=SESSION, run_id=run, text="hello"
    )
    assert with_usage(message, Reader(redis_client, keys)).text == text
