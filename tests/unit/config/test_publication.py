"""From the file of one host to a configuration for the fleet: no secrets, nothing that depends on the host."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from openclaw_workers.config.changes import as_started, changes_between, restart_pending
from openclaw_workers.config.host import Host, find_host
from openclaw_workers.config.host_secrets import add_secrets
from openclaw_workers.config.loader import load_published
from openclaw_workers.config.publication import Draft, draft, written_digest
from openclaw_workers.config.required_variables import variables_of
from openclaw_workers.config.settings import Settings
from openclaw_workers.errors import ConfigurationError

KEY = "OPENCLAW_SECRET_MODELS_PROVIDERS_OPENAI_API_KEY"


class Place:
    """A state directory with a file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir(exist_ok=True)

    def host(self, text: str = "", env: Mapping[str, str] | None = None) -> Host:
        (self.path / "openclaw.yaml").write_text(text)
        return find_host(env={"HOME": str(self.path), **(env or {})}, cwd=self.path, state_dir=self.path)

    def draft(self, text: str = "", env: Mapping[str, str] | None = None) -> Draft:
        return draft(self.host(text, env))


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path / "one")


@pytest.fixture(autouse=True)
def in_tokyo(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")


def at(tree: Mapping[str, Any], path: str) -> Any:
    for key in path.split("."):
        tree = tree[key]
    return tree


def test_the_address_of_redis_and_the_namespace_are_not_published(place: Place) -> None:
    tree = place.draft("redis: {url: redis://h/0}\nengine: {namespace: mine, maxSteps: 7}").tree

    assert "redis" not in tree
    assert tree["engine"] == {"maxSteps": 7}


@pytest.mark.parametrize(
    ("text", "env", "model"),
    [
        ("", {}, "offline/demo"),
        ("", {"ANTHROPIC_API_KEY": "k"}, "anthropic/claude-opus-4-6"),
        ("models: {providers: {openai: {apiKey: '${NOT_HERE}'}}}", {}, "openai/gpt-4o"),
        ("agents: {defaults: {model: offline/script}}", {"ANTHROPIC_API_KEY": "k"}, "offline/script"),
    ],
    ids=["none", "environment", "a key of other hosts", "named"],
)
def test_the_default_model_is_decided(place: Place, text: str, env: dict[str, str], model: str) -> None:
    made = place.draft(text, env)

    here = load_published(made.tree, find_host(env={}, cwd=place.path, state_dir=place.path), version="1-a")
    assert here.settings.agents.defaults.model.primary == model


def test_addresses_of_the_environment_are_stored_and_keys_of_it_are_references(place: Place) -> None:
    env = {"OPENAI_API_KEY": "sk-secret", "OPENAI_BASE_URL": "http://box/v1", "REDIS_URL": "redis://h/0"}
    made = place.draft("", env)

    assert at(made.tree, "models.providers.openai") == {"apiKey": "${OPENAI_API_KEY}", "baseUrl": "http://box/v1"}
    assert "sk-secret" not in json.dumps(made.tree)


def test_the_local_time_zone_becomes_a_named_one_everywhere(place: Place) -> None:
    made = place.draft("agents: {list: [{id: a, userTimezone: local}, {id: b, userTimezone: Europe/Berlin}]}")

    assert at(made.tree, "agents.defaults.userTimezone") == "Asia/Tokyo"
    assert [each["userTimezone"] for each in made.tree["agents"]["list"]] == ["Asia/Tokyo", "Europe/Berlin"]


def test_a_literal_secret_is_moved_and_published_as_a_reference(place: Place) -> None:
    text = """
    models:
      providers:
        openai: {apiKey: sk-literal, headers: {x-token: "${TOKEN}", authorization: "Bearer ${TOKEN}", x: "a-${TOKEN}"}}
    qdrant: {url: "http://user:hunter2@h:6333"}
    """
    made = place.draft(text, {"TOKEN": "t"})

    openai = at(made.tree, "models.providers.openai")
    assert openai["apiKey"] == f"${{{KEY}}}"
    assert openai["headers"]["x-token"] == "${TOKEN}"
    assert openai["headers"]["authorization"] == "Bearer ${TOKEN}"
    assert "sk-literal" not in json.dumps(made.tree)
    assert "hunter2" not in json.dumps(made.tree)
    assert made.secrets[KEY] == "sk-literal"
    add_secrets(place.path, made.secrets)
    loaded = load_published(made.tree, place.host(text, {"TOKEN": "t"}), version="1-a")
    provider = loaded.settings.models.providers["openai"]
    assert provider.api_key is not None
    assert provider.api_key.get_secret_value() == "sk-literal"
    assert provider.headers["x"].get_secret_value() == "a-t"


def test_a_new_value_gets_a_new_name_so_that_older_versions_find_theirs(place: Place) -> None:
    text = "models: {providers: {openai: {apiKey: %s}}}"
    for value, name in (("one", KEY), ("two", f"{KEY}_2"), ("one", KEY)):
        made = place.draft(text % value)
        add_secrets(place.path, made.secrets)
        assert made.secrets == {name: value}


def test_the_same_file_has_the_same_digest_on_every_host(place: Place, tmp_path: Path) -> None:
    text = "models: {providers: {openai: {apiKey: sk-literal}}}"
    made = place.draft(text, {"ANTHROPIC_API_KEY": "k"})

    assert written_digest(Place(tmp_path / "two").host(text)) == made.written
    assert written_digest(Place(tmp_path / "three").host("engine: {maxSteps: 7}")) != made.written
    assert written_digest(Place(tmp_path / "four").host("lanez: {}")) == ""


def test_relative_paths_count_from_the_state_directory_of_each_host(place: Place, tmp_path: Path) -> None:
    made = place.draft("agents: {defaults: {workspace: files}}")

    other = find_host(env={}, cwd=tmp_path, state_dir=tmp_path / "two")
    defaults = load_published(made.tree, other, version="1-a").settings.agents.defaults
    assert defaults.workspace.path == tmp_path / "two/files"


def test_only_what_needs_a_variable_goes_without_it(place: Place, tmp_path: Path) -> None:
    made = place.draft(
        """
        models:
          providers:
            openai: {apiKey: "${KEY}", authProfiles: [{id: a, apiKey: "${A}"}, {id: b, apiKey: b}], authOrder: [a, b]}
            box: {baseUrl: "${BOX}"}
        mcp: {servers: {far: {url: "${FAR}"}, near: {command: "${NEAR}", env: {TOKEN: "${KEY}"}}}}
        hooks: {enabled: true, token: "${HOOK}"}
        channels:
          telegram:
            webhook: {url: "https://bot.example", secret: "${HOOK}"}
            accounts: {polls: {botToken: "1:a"}, other: {apiRoot: "${ROOT}", transcribe: {baseUrl: "${VOICE}"}}}
        agents: {defaults: {model: openai/gpt-4o, workspace: "${FILES}/main"}}
        """
    )
    loaded = load_published(made.tree, find_host(env={}, cwd=tmp_path, state_dir=tmp_path / "two"), version="4-a")
    mcp, telegram = loaded.settings.mcp.servers, loaded.settings.channels.telegram
    assert [mcp[name].enabled for name in ("far", "near")] == [False, False]
    assert [bot.enabled for bot in (telegram, telegram.accounts["polls"], telegram.accounts["other"])] == [
        False,
        True,
        False,
    ]
    assert telegram.accounts["other"].transcribe is None

    openai = loaded.settings.models.providers["openai"]
    assert openai.api_key is None
    assert openai.auth_profiles == ()
    assert not loaded.settings.hooks.enabled
    assert loaded.origins["agents.defaults.model.primary"] == "configuration 4"
    variables = variables_of(made.tree, {})
    assert {"KEY", "A", "BOX", "FAR", "NEAR"} <= variables.missing_secrets
    assert variables.missing_values == {"FILES"}, "its agents would work elsewhere"
    assert "HOOK" not in variables.missing_secrets  # only the ingress uses it
    assert variables_of(made.tree, {"KEY": "k", "HOOK": "h"}).held == {"KEY"}


def test_a_key_of_the_environment_fills_in_where_the_configuration_names_none(place: Place, tmp_path: Path) -> None:
    env = {"ANTHROPIC_API_KEY": "a", "OPENAI_API_KEY": "environment"}
    made = place.draft("models: {providers: {openai: {apiKey: '${MINE}'}}}")

    host = find_host(env={**env, "MINE": "named"}, cwd=tmp_path, state_dir=tmp_path / "two")
    providers = load_published(made.tree, host, version="1-a").settings.models.providers
    keys = {name: given.api_key.get_secret_value() for name, given in providers.items() if given.api_key}
    assert keys == {"anthropic": "a", "openai": "named"}
    assert variables_of(made.tree, env).held == {"ANTHROPIC_API_KEY"}
    assert "ANTHROPIC_API_KEY" in variables_of(made.tree, {}).unused


def test_a_wrong_file_is_refused_with_every_problem(place: Place) -> None:
    with pytest.raises(ConfigurationError) as caught:
        place.draft("engine: {maxSteps: none, nonsense: 1}")

    assert len(caught.value.problems) == 2


def test_changes_name_paths_values_and_what_needs_a_restart() -> None:
    before = {"lanes": {"main": {"concurrency": 4}}, "tools": {"deny": ["a"]}, "agents": {"list": [{"id": "a"}]}}
    after = {"lanes": {"main": {"concurrency": 8}}, "tools": {"deny": ["a"]}, "agents": {"list": [{"id": "b"}]}}

    changes = changes_between(before, after)

    assert [(each.path, each.before, each.after, each.needs_restart) for each in changes] == [
        ("agents.list[0].id", "a", "b", False),
        ("lanes.main.concurrency", 4, 8, True),
    ]


def test_a_process_keeps_what_needs_a_restart() -> None:
    started = Settings.model_validate({"engine": {"leaseSeconds": 4.0}})
    current = Settings.model_validate({"engine": {"leaseSeconds": 16.0, "maxSteps": 3}, "gateway": {"port": 1}})

    assert restart_pending(started, current) == ["engine.leaseSeconds", "gateway.port"]
    kept = as_started(current, started)
    assert (kept.engine.lease_seconds, kept.engine.max_steps) == (4.0, 3)
