"""Which model answers after `ocw up` without a configuration, depending on the environment."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.test_up import Ocw
from tests.support.wire import Called, Reply, WireServer


@pytest.mark.parametrize(
    ("name", "key", "path", "model"),
    [
        pytest.param("ANTHROPIC", "key-from-env", "/v1/messages", "claude-opus-4-6", id="a key"),
        pytest.param("OPENAI", "key-from-env", "/v1/chat/completions", "gpt-4o", id="a key and an address"),
        pytest.param("OPENAI", "", "/v1/chat/completions", "gpt-4o", id="an address alone"),
    ],
)
def test_the_model_of_the_environments_key_answers(tmp_path: Path, name: str, key: str, path: str, model: str) -> None:
    with WireServer(Reply(calls=[Called("write", {"path": "a.txt", "content": "hi"})]), Reply("Written.")) as server:
        # The provider's real address is unreachable here, so the test gives another one with the key.
        url = server.url if name == "ANTHROPIC" else server.openai_url
        ocw = Ocw(tmp_path / "state", **{f"{name}_BASE_URL": url, f"{name}_API_KEY": key})
        try:
            assert ocw.up("--no-flower")["offline"] is False
            done = ocw("agent", "-m", "write it")
        finally:
            ocw("down")

    assert (done.returncode, done.stdout.strip()) == (0, "Written."), done.stderr
    assert (ocw.state_dir / "workspace" / "a.txt").read_text() == "hi"
    assert [(request.path, request.body["model"], request.problems) for request in server.requests] == [
        (path, model, [])
    ] * 2
    sent = [request.headers["authorization"] for request in server.requests]
    assert sent == [f"Bearer {key or 'none'}"] * 2
    logs = "".join(file.read_text() for file in (ocw.state_dir / "logs").iterdir())
    assert "key-from-env" not in logs
