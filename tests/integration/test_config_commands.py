"""`ocw config apply`, `history`, `rollback` and `show`, and a file that differs from what is published."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.fleet import Fleet
from tests.support.ocw import Done, Ocw


class Operator:
    """Edits the file of a fleet and runs commands. No worker runs."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self.ocw = Ocw(fleet)

    def write(self, **changes: Any) -> None:
        config = yaml.safe_load(self.fleet.config_path.read_text())
        self.fleet.config_path.write_text(yaml.safe_dump({**config, **changes}))

    def apply(self, *options: str) -> Done:
        done = self.ocw("config", "apply", *options)
        assert done.code == 0, done.err
        return done

    def shown(self, path: str, *options: str) -> Any:
        rows = self.ocw(*options, "config", "show", path, "--json").json["values"]
        return rows[0]["value"]


@pytest.fixture
def operator(bare_fleet: Fleet) -> Operator:
    return Operator(bare_fleet)


def test_the_first_one_is_published_whole_and_the_next_as_a_difference(operator: Operator) -> None:
    assert "published configuration 1" in operator.apply().out
    assert "configuration 1 is already in use" in operator.apply().out

    operator.write(tools={"web": {"search": {"maxResults": 3}}}, lanes={"main": {"concurrency": 7}})
    out = operator.apply("--dry-run").out
    assert "+ lanes.main.concurrency: 7  (needs a restart)\n" in out
    assert "nothing was published" in out
    assert "published configuration 2" in operator.apply().out

    operator.write(lanes={"main": {"concurrency": 8}})
    assert operator.apply().out.startswith("~ lanes.main.concurrency: 7 -> 8")
    newest, *older = operator.ocw("config", "history", "--json").json["versions"]
    assert (newest["version"], newest["inForce"], len(older)) == (3, True, 2)
    assert [each["path"] for each in newest["changes"]] == ["lanes.main.concurrency"]
    assert "* " in operator.ocw("config", "history").out


def test_commands_read_the_published_one_and_report_a_file_that_differs(operator: Operator) -> None:
    operator.apply()
    operator.write(session={"mainKey": "other"})

    done = operator.ocw("config", "show", "session.mainKey", "--json")
    assert done.json["values"][0] == {"path": "session.mainKey", "value": "main", "origin": "default"}
    assert "differs from configuration 1" in done.err
    assert operator.shown("session.mainKey", "--local-config") == "other"
    found = operator.ocw("doctor", "--no-probe", "--json").json["findings"]
    assert [each["fix"] for each in found if each["check"] == "drift"] == ["ocw config apply"]

    operator.apply()
    done = operator.ocw("config", "show", "session.mainKey", "--json")
    assert (done.json["version"], done.json["values"][0]["origin"], done.err) == (2, "configuration 2", "")
    assert done.json["values"][0]["value"] == "other"


def test_rollback_goes_back_to_any_version(operator: Operator) -> None:
    operator.apply()
    for key in ("b", "c"):
        operator.write(session={"mainKey": key})
        operator.apply()

    assert "published configuration 4" in operator.ocw("config", "rollback").out
    assert operator.shown("session.mainKey") == "b"
    assert operator.ocw("config", "rollback", "1", "--json").json["rolledBackTo"] == 1
    assert operator.shown("session.mainKey") == "main"
    assert operator.ocw("config", "rollback", "77").code != 0
    assert "rollback to 1" in operator.ocw("config", "history").out


def test_a_wrong_file_changes_nothing_and_lists_its_problems(operator: Operator) -> None:
    operator.apply()
    operator.write(nonsense=1, session={"mainKey": 3})

    done = operator.ocw("config", "apply")

    assert done.code == 3
    assert "nonsense: unknown key" in done.err
    assert operator.ocw("status", "--json").json["configuration"]["version"] == 1


def test_a_literal_secret_stays_on_its_host(operator: Operator) -> None:
    operator.write(models={"providers": {"openai": {"apiKey": "sk-literal"}}})

    answer = operator.apply("--json").json

    (name,) = answer["movedSecrets"]
    assert "sk-literal" not in str(answer)
    stores = operator.fleet.stores
    assert "sk-literal" not in str(stores.redis.hgetall(stores.keys.config))
    secrets = operator.fleet.state_dir / "secrets.json"
    assert secrets.stat().st_mode & 0o777 == 0o600
    assert "sk-literal" in secrets.read_text()
    assert name in secrets.read_text()


def test_an_unset_variable_fails_only_what_needs_it(operator: Operator) -> None:
    operator.write(models={"providers": {"openai": {"apiKey": "${NOWHERE}"}}})
    done = operator.apply()
    assert "needs NOWHERE, not set on this host" in done.err

    for words in (("status",), ("usage",), ("agents", "list"), ("runs", "list")):
        assert operator.ocw(*words).code == 0, words


def test_another_file_is_published_under_the_address_and_namespace_of_this_host(
    operator: Operator, tmp_path: Path
) -> None:
    other = tmp_path / "other.yaml"
    other.write_text("session: {mainKey: elsewhere}\n")

    operator.apply(str(other))

    assert operator.shown("session.mainKey") == "elsewhere"


def test_one_setting_is_read_and_changed_and_the_file_keeps_its_comments(operator: Operator) -> None:
    path = operator.fleet.config_path
    path.write_text(f"# mine\n{path.read_text()}")
    operator.apply()
    assert operator.ocw("config", "get", "cron.maxConcurrent").out == "2\n"

    done = operator.ocw("config", "set", "cron.maxConcurrent", "3")
    assert done.code == 0, done.err
    assert "- cron.maxConcurrent: 2\n+ cron.maxConcurrent: 3\n" in done.out
    assert "`ocw config apply` publishes it" in done.out
    assert path.read_text().startswith("# mine\n")
    assert operator.ocw("config", "get", "cron.maxConcurrent").out == "2\n"

    operator.apply()
    answer = operator.ocw("config", "set", "lanes.main.concurrency", "6", "--json").json
    assert (answer["after"], answer["version"], answer["needsRestart"]) == (6, None, True)
    operator.apply()
    again = operator.ocw("config", "set", "lanes.main.concurrency", "6", "--json").json
    assert again["note"] == "in effect with configuration 3, after a restart of workers or ingress"


def test_what_is_not_valid_changes_nothing_and_a_secret_is_not_shown(operator: Operator) -> None:
    before = operator.fleet.config_path.read_text()
    refused = operator.ocw("config", "set", "cron.maxConcurrent", "many")
    assert (refused.code, "nothing was changed" in refused.err) == (3, True)
    assert operator.ocw("config", "set", "cron.maxConcurent", "3").code == 3
    assert operator.ocw("config", "get", "cron.maxConcurent").err.endswith("did you mean 'cron.maxConcurrent'?\n")
    assert operator.fleet.config_path.read_text() == before

    done = operator.ocw("config", "set", "models.providers.openai.apiKey", "-", stdin="sk-secret-1\n")
    assert done.code == 0, done.err
    assert "sk-secret-1" in operator.fleet.config_path.read_text()
    assert "sk-secret-1" not in done.out + done.err
