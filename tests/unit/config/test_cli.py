"""`ocw config`, as a person or a program sees it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from openclaw_workers.cli.commands.config import config
from openclaw_workers.config.base import Section
from openclaw_workers.config.example import example
from openclaw_workers.config.loader import ENVIRONMENT
from openclaw_workers.config.schema_tree import item_of, section_of
from openclaw_workers.config.settings import Settings
from openclaw_workers.field_docs import field_docs
from tests.unit.config.conftest import LoadText

ROOT = Path(__file__).parents[3]
SECRET = "s3cr3t-do-not-print"


@dataclass
class Context:
    config_path: Path | None = None
    state_dir: Path | None = None


@pytest.fixture(autouse=True)
def _nothing_from_this_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for variable in (*ENVIRONMENT, "OPENCLAW_CONFIG", "OPENCLAW_STATE_DIR"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)


def ocw(*args: str, text: str | None = None) -> Result:
    if text is not None:
        Path("openclaw.yaml").write_text(text)
    return CliRunner().invoke(config, args)


def test_check_names_the_valid_file(tmp_path: Path) -> None:
    assert ocw("check").output == "ok: no configuration file, all defaults\n"
    assert ocw("check", text="{}").output == f"ok: {tmp_path / 'openclaw.yaml'}\n"
    answer = json.loads(ocw("check", "--json").output)
    assert answer == {"ok": True, "source": str(tmp_path / "openclaw.yaml")}


@pytest.mark.parametrize("command", ["check", "show"])
def test_every_problem_is_printed_and_the_exit_code_is_three(command: str) -> None:
    result = ocw(command, text="mesages: {}\nengine: {maxSteps: 0}")

    assert result.exit_code == 3
    assert "mesages: unknown key; did you mean 'messages'?" in result.output
    assert "engine.maxSteps: expected at least 1, found 0" in result.output


def test_problems_as_json_have_the_fields_of_every_failure() -> None:
    result = ocw("check", "--json", text="mesages: {}")

    answer = json.loads(result.output)
    assert result.exit_code == 3
    assert answer["ok"] is False
    assert answer["source"].endswith("openclaw.yaml")
    assert set(answer["error"]) == {"type", "message", "hint"}
    assert answer["error"]["type"] == "ConfigurationError"
    assert answer["problems"] == ["mesages: unknown key; did you mean 'messages'?"]


def test_show_says_where_each_value_came_from(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDIS_URL", "redis://:pw@h:6379/0")

    answer = json.loads(ocw("show", "--json", text="messages: {queue: {cap: 7}}").output)

    rows = {row["path"]: (row["value"], row["origin"]) for row in answer["values"]}
    assert rows["messages.queue.cap"] == (7, "file")
    assert rows["messages.queue.mode"] == ("collect", "default")
    assert rows["redis.url"] == ("redis://:***@h:6379/0", "environment REDIS_URL")


def test_show_can_be_limited_to_one_section() -> None:
    assert [line.split()[0] for line in ocw("show", "session.reset").output.splitlines()] == [
        "session.reset.mode",
        "session.reset.atHour",
        "session.reset.idleMinutes",
    ]
    assert ocw("show", "session.resetTriggers").output.count("\n") == 1
    assert ocw("show", "nothing.here").exit_code == 2


@pytest.mark.parametrize("args", [("show",), ("show", "--json"), ("check",), ("check", "--json")])
def test_no_secret_is_ever_printed(args: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "TELEGRAM_BOT_TOKEN", "MINE"):
        monkeypatch.setenv(variable, SECRET)
    monkeypatch.setenv("REDIS_URL", f"redis://user:{SECRET}@h:6379/0")
    monkeypatch.setenv("QDRANT_URL", f"https://:{SECRET}@h?api_key={SECRET}")

    result = ocw(
        *args,
        text=f"""
        models:
          providers:
            x:
              apiKey: "${{MINE}}"
              baseUrl: https://h/v1?token={SECRET}&version=2
              headers: {{authorization: Bearer {SECRET}}}
              authProfiles: [{{id: a, apiKey: {SECRET}}}]
              models: [{{id: m, headers: {{k: {SECRET}}}}}]
        """,
    )

    assert result.exit_code == 0
    assert SECRET not in result.output
    if "show" in args:
        assert "***" in result.output


def test_a_secret_is_not_in_the_settings_representation_or_dump(load_text: LoadText) -> None:
    loaded = load_text(
        f"telegram: {{botToken: {SECRET}}}\nredis: {{url: 'redis://:{SECRET}@h/0'}}", env={"OPENAI_API_KEY": SECRET}
    )

    assert SECRET not in repr(loaded)
    assert SECRET not in str(loaded.settings.model_dump())
    assert SECRET not in loaded.settings.model_dump_json()
    assert loaded.settings.channels.telegram.bot_token is not None
    assert loaded.settings.channels.telegram.bot_token.get_secret_value() == SECRET


def test_the_path_and_state_directory_come_from_the_root_command(tmp_path: Path) -> None:
    (tmp_path / "other.yaml").write_text("engine: {maxSteps: 9}")
    context = Context(config_path=tmp_path / "other.yaml", state_dir=tmp_path / "state")

    answer = json.loads(CliRunner().invoke(config, ["show", "--json"], obj=context).output)

    assert answer["source"] == str(tmp_path / "other.yaml")
    assert answer["stateDir"] == str(tmp_path / "state")


def test_the_committed_example_is_the_generated_one() -> None:
    assert (ROOT / "openclaw.example.yaml").read_text() == ocw("example").output == example()
    assert json.loads(ocw("example", "--json").output) == {"ok": True, "example": example()}


def test_the_example_loads_and_changes_nothing(load_text: LoadText) -> None:
    settings = load_text(example()).settings

    assert settings == Settings()
    assert settings.agents.defaults.heartbeat is None, "a copy of the example must not start heartbeats"


def sections(annotation: Any) -> set[type[Section]]:
    """All settings classes below an annotation."""
    section = section_of(annotation) or section_of(item_of(annotation)[1])
    if section is None:
        return set()
    below = [sections(field.annotation) for field in section.model_fields.values()]
    return {section}.union(*below)


def test_every_field_has_a_description_and_is_in_the_example() -> None:
    text = example()

    for section in sections(Settings):
        for name, field in section.model_fields.items():
            assert name in field_docs(section), f"{section.__name__}.{name} has no docstring"
            assert f"{field.alias}: " in text or f"{field.alias}:\n" in text


def test_the_schema_has_the_names_of_the_file() -> None:
    schema = json.loads(ocw("schema").output)

    queue = schema["$defs"]["QueueSettings"]["properties"]
    assert {"debounceMs", "byChannel", "debounceMsByChannel"} < set(queue)
    assert queue["cap"]["description"].startswith("How many messages may wait in a session")
    assert schema["additionalProperties"] is False
    assert json.loads(ocw("schema", "--json").output) == schema


@pytest.mark.parametrize("command", [(), ("check",), ("show",), ("schema",), ("example",)])
def test_help_ends_with_examples(command: tuple[str, ...]) -> None:
    output = ocw(*command, "--help").output

    assert "Examples:\n    ocw config" in output
