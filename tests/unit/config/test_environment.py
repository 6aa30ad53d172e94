"""What comes from the environment: secrets, addresses, and `${VARIABLE}` in the file."""

from __future__ import annotations

import pytest

from openclaw_workers.config.loader import ENVIRONMENT
from openclaw_workers.config.schema_tree import dotted
from tests.unit.config.conftest import LoadText, ProblemsIn


@pytest.mark.parametrize("variable", ENVIRONMENT)
def test_a_variable_sets_its_value_and_is_named_as_the_origin(variable: str, load_text: LoadText) -> None:
    addresses = {"REDIS_URL": "redis://h/0", "QDRANT_URL": "http://h:6333"}
    value = addresses.get(variable, "http://h/v1" if variable.endswith("_BASE_URL") else "a-key")

    loaded = load_text("", env={variable: value})

    assert loaded.origins[dotted(ENVIRONMENT[variable])] == f"environment {variable}"


def test_the_environment_wins_over_the_file(load_text: LoadText) -> None:
    loaded = load_text("redis: {url: redis://file/0}", env={"REDIS_URL": "redis://environment/0"})

    assert loaded.settings.redis.url is not None
    assert loaded.settings.redis.url.get_secret_value() == "redis://environment/0"


def test_an_empty_variable_counts_as_unset(load_text: LoadText) -> None:
    assert load_text("", env={"REDIS_URL": ""}).settings.redis.url is None


def test_a_wrong_value_is_reported_by_its_variable_without_the_value(problems_in: ProblemsIn) -> None:
    assert problems_in("", env={"REDIS_URL": "secret-nonsense"}) == [
        "environment REDIS_URL: expected an address that starts with redis:// or rediss:// or unix://"
    ]


def test_references_are_replaced_in_every_string(load_text: LoadText) -> None:
    settings = load_text(
        """
        models: {providers: {x: {apiKey: "${KEY}", baseUrl: "http://${HOST}:${PORT}/v1"}}}
        tools: {deny: ["${TOOL}", "$${TOOL}", "$TOOL", "${not a name}"]}
        """,
        env={"KEY": "k-1", "HOST": "h", "PORT": "80", "TOOL": "exec"},
    ).settings

    provider = settings.models.providers["x"]
    assert provider.api_key is not None
    assert provider.api_key.get_secret_value() == "k-1"
    assert provider.base_url == "http://h:80/v1"
    assert settings.tools.deny == ("exec", "${TOOL}", "$TOOL", "${not a name}")


def test_an_undefined_variable_is_a_problem_with_path_and_name(problems_in: ProblemsIn) -> None:
    problems = problems_in('tools: {deny: [a, "${NOWHERE}"]}\nredis: {url: "${LOST}"}')

    assert problems == [
        "tools.deny[1]: the environment variable NOWHERE is not set; set it, or write $${NOWHERE} for the text itself",
        "redis.url: the environment variable LOST is not set; set it, or write $${LOST} for the text itself",
    ]


def test_a_value_from_the_environment_is_not_quoted_in_a_problem(problems_in: ProblemsIn) -> None:
    problems = problems_in(
        'messages: {queue: {mode: "${KEY}", cap: "${KEY}"}}\nthinkingDefault: "${KEY}"', env={"KEY": "s3cret"}
    )

    assert len(problems) == 3
    assert "s3cret" not in "".join(problems)


def test_a_password_that_parses_as_a_url_option_is_not_quoted(problems_in: ProblemsIn) -> None:
    (problem,) = problems_in("", env={"REDIS_URL": "redis://user:6379?hun=ter@h/0"})

    assert problem.startswith("environment REDIS_URL: expected options of redis-py after the ?; in a password")
    assert "hun" not in problem


def test_a_password_that_parses_as_a_path_is_not_shown(problems_in: ProblemsIn) -> None:
    (problem,) = problems_in("", env={"REDIS_URL": "redis://:12/hunter@h:6379/0"})

    assert problem.startswith("environment REDIS_URL: expected no @ after the first /; in a password write / as %2F")
    assert "hunter" not in problem


def test_a_password_that_parses_as_a_port_is_not_quoted(problems_in: ProblemsIn) -> None:
    (problem,) = problems_in("", env={"REDIS_URL": "redis://:hun/ter@h:6379/0"})

    assert problem.startswith("environment REDIS_URL: expected a port")
    assert "hun" not in problem
