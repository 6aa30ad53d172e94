"""Which model answers and whose key it uses, for the banner of `ocw up`."""

from __future__ import annotations

from pathlib import Path

import pytest

from openclaw_workers.cli.local.answering_model import AnsweringModel, answering_model
from openclaw_workers.config.loader import load


@pytest.fixture
def answering(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Answering:
    return Answering(tmp_path, monkeypatch)


class Answering:
    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY"):
            patch.delenv(name, raising=False)
        self.patch = patch

    def by(self, text: str = "", env_file: str = "", **env: str) -> AnsweringModel:
        (self.folder / ".env").write_text(env_file)
        source = self.folder / "openclaw.yaml"
        source.write_text(text)
        for name, value in env.items():
            self.patch.setenv(name, value)
        return answering_model(load(source, state_dir=self.folder))


def test_without_a_key_the_built_in_model_answers(answering: Answering) -> None:
    found = answering.by()
    assert (found.model, found.key) == ("offline/demo", "")
    assert found.is_offline
    assert found.configuration == str(answering.folder / "openclaw.yaml")


def test_a_configured_model_is_named_whatever_the_keys_are(answering: Answering) -> None:
    found = answering.by("agents: {list: [{id: main, model: offline/script}]}", OPENAI_API_KEY="sk-1")
    assert (found.model, found.is_offline) == ("offline/script", True)
    assert not answering.by("agents: {list: [{id: main, model: openai/gpt-5}]}").is_offline


def test_the_key_is_named_by_where_it_is_and_never_shown(answering: Answering) -> None:
    model = "agents: {defaults: {model: {primary: openai/gpt-5}}}"
    assert answering.by(model).key == "missing"
    assert answering.by(model, env_file="OPENAI_API_KEY=sk-1").key == f"OPENAI_API_KEY in {answering.folder / '.env'}"
    in_file = f"{model}\nmodels: {{providers: {{openai: {{apiKey: sk-2}}}}}}"
    assert answering.by(in_file).key == str(answering.folder / "openclaw.yaml")
    profiles = f"{model}\nmodels: {{providers: {{openai: {{authProfiles: [{{id: work, apiKey: sk-3}}]}}}}}}"
    assert answering.by(profiles).key == "profiles work"
    assert answering.by(model, OPENAI_API_KEY="sk-4").key == "OPENAI_API_KEY"
