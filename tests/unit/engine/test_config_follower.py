"""When a worker uses a new version of the configuration, and when it takes no turns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from openclaw_workers.config.loader import Loaded
from openclaw_workers.config.required_variables import Variables
from openclaw_workers.config.settings import Settings
from openclaw_workers.engine.worker.config_follower import ConfigFollower, Following
from openclaw_workers.errors import ConfigurationError, StoreUnavailable

NOBODY: frozenset[str] = frozenset()


def following(version: str, variables: Variables | None = None, restart: tuple[str, ...] = ()) -> Following:
    loaded = Loaded(Settings(), None, {}, Path("/state"), version=version)
    return Following(loaded, variables or Variables(), restart)


class Worker:
    """What a follower is given, and what it did with it."""

    def __init__(self, current: Following, *, without: tuple[str, ...] = (), is_local: bool = False) -> None:
        self.newest: Callable[[], Following | None] = lambda: None
        self.used: list[str] = []
        self.turned_away: list[str] = []
        self.config = ConfigFollower(
            current,
            load=lambda: self.newest(),  # noqa: PLW0108 - tests replace it
            use=lambda found: self.used.append(found.loaded.version),
            turn_away=self.turned_away.append,
            without=without,
            is_local=is_local,
        )

    def tick(self, version: str, held: frozenset[str] = NOBODY) -> None:
        self.config.noticed(version, held)
        self.config.join()


def test_a_new_version_is_used_once_and_shown() -> None:
    worker = Worker(following("1-a"))
    worker.newest = lambda: following("2-b", restart=("lanes.main.concurrency",))

    for _ in range(3):
        worker.tick("2-b")

    assert worker.used == ["2-b"]
    assert worker.config.facts()["config"] == "2-b"
    assert worker.config.facts()["restart"] == "lanes.main.concurrency"
    assert worker.turned_away == []


def test_a_version_that_was_lost_with_redis_changes_nothing() -> None:
    worker = Worker(following("1-a"))

    worker.tick("")

    assert worker.used == []
    assert worker.config.refusal == ""


def test_a_version_that_cannot_be_read_ends_the_taking_of_turns_until_one_can() -> None:
    worker = Worker(following("1-a"))

    def refuse() -> Following:
        raise ConfigurationError(["engine.later: unknown key"])

    worker.newest = refuse
    worker.tick("2-b")
    worker.tick("2-b")
    assert worker.config.refusal == "it cannot read configuration 2"
    assert worker.config.facts()["config"] == "1-a"

    worker.newest = lambda: following("3-c")
    worker.tick("3-c")
    assert worker.config.refusal == ""
    assert worker.turned_away[-1] == ""


def test_while_redis_is_away_it_tries_again_with_the_next_tick() -> None:
    worker = Worker(following("1-a"))

    def fail() -> Following:
        raise StoreUnavailable("away")

    worker.newest = fail
    worker.tick("2-b")
    assert worker.config.refusal == ""

    worker.newest = lambda: following("2-b")
    worker.tick("2-b")
    assert worker.used == ["2-b"]


def test_with_its_own_file_it_follows_nobody() -> None:
    worker = Worker(following(""), is_local=True)

    worker.tick("2-b")

    assert worker.used == []
    assert worker.config.facts()["config"] == "local"


LACKS = Variables(missing_secrets=frozenset({"KEY"}), unused=frozenset({"OPENAI_API_KEY"}))


@pytest.mark.parametrize(
    ("held", "without", "refuses"),
    [
        (NOBODY, (), False),
        (frozenset({"KEY"}), (), True),
        (frozenset({"OPENAI_API_KEY"}), (), True),
        (frozenset({"ELSE"}), (), False),
        (frozenset({"KEY"}), ("KEY",), False),
    ],
    ids=["nobody has it", "others have it", "others use a key of their environment", "another", "allowed"],
)
def test_a_worker_without_a_secret_that_others_have_takes_no_turns(
    held: frozenset[str], without: tuple[str, ...], refuses: bool
) -> None:
    worker = Worker(following("1-a", LACKS), without=without)

    worker.tick("1-a", held)

    assert bool(worker.config.refusal) == refuses
    assert "KEY" in worker.config.facts()["missing"]
    worker.tick("1-a", NOBODY)  # the last one that had it is gone
    assert worker.config.refusal == ""


def test_a_variable_of_a_plain_setting_must_be_set() -> None:
    worker = Worker(following("1-a", Variables(missing_values=frozenset({"MODEL"}))))

    worker.tick("1-a")

    assert worker.config.refusal == "variables are not set on this host: MODEL"


def test_what_it_has_is_named() -> None:
    worker = Worker(following("1-a", replace(LACKS, held=frozenset({"B", "A"}))))

    assert worker.config.secrets() == ["A", "B"]
