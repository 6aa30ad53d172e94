"""The programs that docs/models.md shows how to use, by stand-ins that write what those write."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from openclaw_workers.cancel import Cancel
from openclaw_workers.config.models import ModelsSettings
from openclaw_workers.domain.transcript import AssistantEntry, TranscriptEntry
from openclaw_workers.providers.base import ModelRequest, StreamEvent, TextDelta
from openclaw_workers.providers.registry import Providers
from tests.unit.providers.offline_conversation import answer_of, text_of, until_answered, user

DOCS = Path(__file__).parents[3] / "docs" / "models.md"
SESSION = "5f6a1e1c-8f0b-4b8e-9f7e-2f6f0a4f3f10"
DELTAS = [
    {"type": "thinking_delta", "thinking": "they greet me"},
    {"type": "text_delta", "text": "Hello, "},
    {"type": "text_delta", "text": "you."},
    {"type": "input_json_delta", "partial_json": "{}"},
]
CLAUDE = [
    {"type": "system", "subtype": "init", "session_id": SESSION, "tools": ["Bash"]},
    *(
        {"type": "stream_event", "event": {"type": "content_block_delta", "delta": each}, "session_id": SESSION}
        for each in DELTAS
    ),
    {"type": "assistant", "message": {"content": [{"type": "text", "text": "Hello, you."}]}, "session_id": SESSION},
    {
        "type": "result",
        "subtype": "success",
        "result": "Hello, you.",
        "session_id": SESSION,
        "usage": {"input_tokens": 7, "output_tokens": 3, "cache_read_input_tokens": 2},
    },
]


@pytest.fixture
def ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    (example,) = re.findall(r"```yaml\n(models:\n  cli:\n.*?)```", DOCS.read_text(), re.DOTALL)
    provider = Providers(ModelsSettings.model_validate(yaml.safe_load(example)["models"])).get("cli")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    def asked(name: str, *messages: TranscriptEntry) -> list[StreamEvent]:
        request = ModelRequest(name, "You are terse.", list(messages), workspace=tmp_path)
        return until_answered(lambda: provider.stream(request, Cancel()))

    return asked


def stand_in(folder: Path, name: str, lines: list[str]) -> None:
    program = folder / name
    program.write_text(
        f"#!{sys.executable}\nimport pathlib, sys\n"
        f"pathlib.Path({str(folder / 'given')!r}).write_text(' '.join(sys.argv[1:]) + '|' + sys.stdin.read())\n"
        f"print({chr(10).join(lines)!r})\nprint('working', file=sys.stderr)\n"
    )
    program.chmod(0o755)


def test_claude_code_streams_its_answer_and_is_resumed(ask: Any, tmp_path: Path) -> None:
    stand_in(tmp_path, "claude", [json.dumps(each) for each in CLAUDE])

    events = ask("claude", user("hi"))

    assert [event.text for event in events if isinstance(event, TextDelta)] == ["Hello, ", "you."]
    answer = answer_of(events)
    assert (answer.usage.input, answer.usage.output, answer.usage.cache_read) == (7, 3, 2)
    said = AssistantEntry(content=answer.content, provider="cli", model="claude")
    ask("claude", user("hi"), said, user("and now?"))
    arguments, prompt = (tmp_path / "given").read_text().split("|")
    assert arguments.endswith(f"--verbose --resume {SESSION}")
    assert "and now?" in prompt
    assert "You are terse." not in prompt


def test_codex_answers_with_its_last_message(ask: Any, tmp_path: Path) -> None:
    stand_in(tmp_path, "codex", ["Hello, you."])

    assert text_of(ask("codex", user("hi"))) == "Hello, you.\n"

    arguments, prompt = (tmp_path / "given").read_text().split("|")
    assert arguments == "exec --skip-git-repo-check -"
    assert "hi" in prompt
