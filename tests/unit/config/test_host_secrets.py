"""The variables of a host: its environment, `.env` and `secrets.json` of the state directory."""

from __future__ import annotations

from pathlib import Path

import pytest

from openclaw_workers.config.host import find_host
from openclaw_workers.config.host_secrets import add_secrets, host_variables, read_env_file, read_secrets
from openclaw_workers.errors import ConfigurationError


def test_an_env_file_has_names_and_values_with_quotes_and_comments(tmp_path: Path) -> None:
    path = tmp_path / ".env"
    path.write_text(
        "\ufeff# keys\n\nA=1\nexport B = two words  # a comment\nC='as is $X # no comment'\n"
        'D="line\\nbreak \\"quoted\\""\nE=\nF=a#b\n'
    )

    assert read_env_file(path) == {
        "A": "1",
        "B": "two words",
        "C": "as is $X # no comment",
        "D": 'line\nbreak "quoted"',
        "E": "",
        "F": "a#b",
    }
    assert read_env_file(tmp_path / "none") == {}


def test_a_wrong_line_is_reported_by_its_number_without_its_text(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("A=1\nsk-secret\n")

    with pytest.raises(ConfigurationError) as caught:
        host_variables({}, tmp_path)

    assert "line 2" in caught.value.message
    assert "sk-secret" not in caught.value.message


def test_the_environment_wins_over_the_file_and_that_over_moved_secrets(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("A=file\nB=file\nEMPTY=file\n")
    add_secrets(tmp_path, {"A": "moved", "B": "moved", "C": "moved", "D": "Bearer ${A}", "E": "${NOWHERE}"})

    found = host_variables({"A": "environment", "EMPTY": ""}, tmp_path)

    assert found == {"A": "environment", "B": "file", "C": "moved", "D": "Bearer environment", "EMPTY": "file"}


def test_moved_secrets_are_readable_by_their_owner_alone_and_are_kept(tmp_path: Path) -> None:
    state = tmp_path / "state"
    add_secrets(state, {"A": "1"})
    add_secrets(state, {"B": "2"})
    add_secrets(state, {})

    assert read_secrets(state) == {"A": "1", "B": "2"}
    assert (state / "secrets.json").stat().st_mode & 0o777 == 0o600


def test_a_damaged_file_is_reported_without_its_content(tmp_path: Path) -> None:
    (tmp_path / "secrets.json").write_text('["sk-secret"]')

    with pytest.raises(ConfigurationError) as caught:
        read_secrets(tmp_path)

    assert "secrets.json" in caught.value.message
    assert "sk-secret" not in caught.value.message


def test_a_host_knows_its_redis_and_namespace_by_environment_env_file_or_file(tmp_path: Path) -> None:
    (tmp_path / "openclaw.yaml").write_text("redis: {url: '${R}'}\nengine: {namespace: mine}\n")
    assert find_host(env={"R": "redis://a"}, cwd=tmp_path, state_dir=tmp_path).redis_url == "redis://a"
    unset = find_host(env={}, cwd=tmp_path, state_dir=tmp_path)
    assert (unset.redis_url, unset.namespace) == (None, "mine")

    (tmp_path / ".env").write_text("REDIS_URL=redis://b\nOPENCLAW_NAMESPACE=other\n")
    host = find_host(env={"R": "redis://a"}, cwd=tmp_path, state_dir=tmp_path)
    assert (host.redis_url, host.namespace) == ("redis://b", "other")
