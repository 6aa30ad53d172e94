"""Where the configuration file is searched, and how it is parsed."""

from __future__ import annotations

import errno
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import json5
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openclaw_workers.config.files import _read_json5, parse_yaml
from openclaw_workers.config.loader import load
from openclaw_workers.config.locate import NAMES
from openclaw_workers.errors import BadInput, ConfigurationError
from tests.unit.config.conftest import LoadText, ProblemsIn


def test_a_file_is_found_by_argument_then_variable_then_directory_then_state(tmp_path: Path) -> None:
    places = {name: tmp_path / name for name in ("argument", "variable", "cwd", "state")}
    for name, place in places.items():
        place.mkdir()
        (place / "openclaw.yaml").write_text(f"engine: {{namespace: {name}}}")
    env = {
        "OPENCLAW_CONFIG": str(places["variable"] / "openclaw.yaml"),
        "OPENCLAW_STATE_DIR": str(places["state"]),
    }

    def namespace(path: Path | None = None) -> str:
        return load(path, env=env, cwd=places["cwd"]).settings.engine.namespace

    assert namespace(places["argument"] / "openclaw.yaml") == "argument"
    assert namespace() == "variable"
    del env["OPENCLAW_CONFIG"]
    assert namespace() == "cwd"
    (places["cwd"] / "openclaw.yaml").unlink()
    assert namespace() == "state"


@pytest.mark.parametrize("name", NAMES)
def test_each_file_name_is_found(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text('{"engine": {"namespace": "x"}}')

    loaded = load(env={"HOME": str(tmp_path)}, cwd=tmp_path)

    assert loaded.source == tmp_path / name
    assert loaded.origins["engine.namespace"] == "file"
    assert loaded.origins["engine.maxSteps"] == "default"


def test_two_files_in_one_directory_are_refused_rather_than_guessed(tmp_path: Path) -> None:
    for name in ("openclaw.yaml", "openclaw.json"):
        (tmp_path / name).touch()

    with pytest.raises(ConfigurationError, match=r"openclaw\.yaml and openclaw\.json"):
        load(env={}, cwd=tmp_path)


@pytest.mark.parametrize("env", [{}, {"OPENCLAW_CONFIG": "gone.yaml"}])
def test_a_named_file_that_is_missing_is_an_error(env: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"gone\.yaml, which is not a file"):
        load(None if env else "gone.yaml", env=env, cwd=tmp_path)


def make_link(path: Path) -> None:
    path.symlink_to(path.with_name("gone"))


@pytest.mark.parametrize(
    ("make", "description"),
    [(Path.mkdir, "a directory"), (make_link, "a dangling link"), (os.mkfifo, "not a file")],
    ids=["a directory", "a dangling link", "a pipe"],
)
@pytest.mark.parametrize("place", ["cwd", "state"])
def test_a_candidate_that_is_not_a_file_is_reported(
    make: Callable[[Path], None], description: str, place: str, tmp_path: Path
) -> None:
    """Docker creates a directory if the file to mount does not exist."""
    for name in ("cwd", "state"):
        (tmp_path / name).mkdir()
    path = tmp_path / place / "openclaw.yaml"
    make(path)

    with pytest.raises(ConfigurationError) as refused:
        load(env={}, cwd=tmp_path / "cwd", state_dir=tmp_path / "state")

    assert refused.value.problems == [f"{path} is {description}"]


def test_a_link_to_a_file_is_followed(tmp_path: Path) -> None:
    (tmp_path / "kept.yaml").write_text("engine: {namespace: linked}")
    (tmp_path / "openclaw.yaml").symlink_to("kept.yaml")

    assert load(env={}, cwd=tmp_path, state_dir=tmp_path).settings.engine.namespace == "linked"


@pytest.fixture
def closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory that may not be searched, also for root, who may search all."""
    folder = tmp_path / "closed"
    folder.mkdir()
    stat = Path.stat

    def refuse(path: Path, *, follow_symlinks: bool = True) -> os.stat_result:
        if path.parent == folder:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return stat(path, follow_symlinks=follow_symlinks)

    monkeypatch.setattr(Path, "stat", refuse)
    monkeypatch.setattr(Path, "lstat", lambda path: refuse(path, follow_symlinks=False))
    return folder


def test_a_directory_that_may_not_be_searched_is_named(closed: Path, tmp_path: Path) -> None:
    for cwd, state_dir in ((closed, tmp_path), (tmp_path, closed)):
        with pytest.raises(ConfigurationError, match=f"{closed}/openclaw.yaml: Permission denied") as refused:
            load(env={}, cwd=cwd, state_dir=state_dir)
        assert "--config" in (refused.value.hint or "")
    with pytest.raises(ConfigurationError, match=f"--config names {closed}/own.yaml: Permission denied"):
        load(closed / "own.yaml", env={}, cwd=tmp_path, state_dir=tmp_path)


def test_a_deleted_working_directory_is_reported_clearly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()

    with pytest.raises(BadInput, match="the working directory cannot be used: No such file"):
        load(env={}, state_dir=tmp_path)


def test_a_missing_home_directory_is_reported_clearly(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no home directory for the state directory") as refused:
        load(env={"OPENCLAW_STATE_DIR": "~no-such-user/state"}, cwd=tmp_path)
    assert "OPENCLAW_STATE_DIR" in (refused.value.hint or "")

    with pytest.raises(ConfigurationError, match=r"--config names ~no-such-user/own\.yaml: Could not determine home"):
        load("~no-such-user/own.yaml", env={}, cwd=tmp_path, state_dir=tmp_path)


def test_a_named_state_directory_needs_no_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container, whose user may have no home."""

    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", homeless)

    assert load(env={}, cwd=tmp_path, state_dir=tmp_path).state_dir == tmp_path
    with pytest.raises(BadInput, match="no home directory for the state directory"):
        load(env={}, cwd=tmp_path)


def test_the_state_directory_comes_from_the_argument_then_the_variable_then_home(tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path), "OPENCLAW_STATE_DIR": "relative"}

    assert load(env=env, cwd=tmp_path, state_dir=tmp_path / "given").state_dir == tmp_path / "given"
    assert load(env=env, cwd=tmp_path).state_dir == tmp_path / "relative"
    assert load(env={"HOME": str(tmp_path)}, cwd=tmp_path).state_dir == tmp_path / ".openclaw-workers"


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("c.yaml", "a: 1\nb: [1,\nc: }", "c.yaml:3:4: "),
        ("c.yaml", "engine:\n  maxSteps: 1\n  maxSteps: 2", "c.yaml:3:3: the key 'maxSteps' is given twice"),
        ("c.yaml", "a: 1\n\tb: 2", "c.yaml:2:1: "),
        ("c.yaml", "!!python/object:os.system {}", "c.yaml:1:1: "),
        ("c.yaml", "- a list", "c.yaml: expected a mapping of settings"),
        ("c.json", '{"a": 1,\n "b": }', 'c.json:2:7: Unexpected "}"'),
        ("c.json5", "{a: 1,\n b: 'x' 'y'}", "c.json5:2:9: "),
        ("c.json", '{"engine": {}, "engine": {}}', "c.json: the key 'engine' is given twice"),
        ("c.toml", "", "expected a name that ends in .yaml, .yml, .json, .json5"),
    ],
)
def test_a_syntax_error_names_file_line_and_column(name: str, text: str, problem: str, problems_in: ProblemsIn) -> None:
    [only] = problems_in(text, name=name)

    assert problem in only


@pytest.mark.parametrize("name", ["empty.yaml", "empty.json"])
def test_an_empty_file_sets_nothing(name: str, load_text: LoadText) -> None:
    assert set(load_text("\n", name=name).origins.values()) == {"default"}


def test_yaml_words_times_and_phone_numbers_stay_text(load_text: LoadText) -> None:
    settings = load_text(
        """
        thinkingDefault: off
        heartbeat: {activeHours: {start: 09:00, end: 18:00}, to: +1234567890}
        memory: {citations: on}
        """
    ).settings

    assert settings.agents.defaults.thinking_default == "off"
    heartbeat = settings.agents.defaults.heartbeat
    assert heartbeat is not None
    assert heartbeat.active_hours is not None
    assert heartbeat.active_hours.end == "18:00"
    assert heartbeat.to == "+1234567890"
    assert settings.memory.citations == "on"


def test_yaml_anchors_and_merges_work() -> None:
    assert parse_yaml("a: &x {p: 1}\nb: {<<: *x, q: 2}") == {"a": {"p": 1}, "b": {"p": 1, "q": 2}}


_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(_values, st.booleans(), st.booleans())
@settings(deadline=None)
def test_json_is_read_as_json_whatever_its_strings_contain(value: Any, indented: bool, ascii_only: bool) -> None:
    text = json.dumps(value, indent=2 if indented else None, ensure_ascii=ascii_only)

    assert _read_json5(text) == value


_TOKENS = [
    *("{", "}", "[", "]", ":", ",", " ", "\n", "a", "b1", "true", "null", "12", "-1.5", '"s"', "'t'"),
    *('"//no"', "// yes\n", "/* x, } */", '"a: b"', "'/*'", "0x1F", "+3", ".5", '"\\""'),
]


@given(st.lists(st.sampled_from(_TOKENS), max_size=12).map(lambda tokens: f"{{k: [{''.join(tokens)}]}}"))
@settings(deadline=None)
def test_the_fast_reader_agrees_with_the_full_one(text: str) -> None:
    try:
        full = json5.loads(text)
    except ValueError:
        return
    try:
        assert _read_json5(text) == full
    except ValueError as error:
        assert "given twice" in str(error)  # noqa: PT017 (json5 lets the last one win; we refuse)


@pytest.mark.parametrize("name", ["openclaw.yaml", "openclaw.json5"])
def test_a_large_file_loads_within_fifty_milliseconds(name: str, load_text: LoadText) -> None:
    agents = ", ".join(f'{{id: "a{at}", name: "Agent {at}", tools: {{deny: ["x"]}}}}' for at in range(100))
    text = f"{{agents: {{list: [{agents}]}}}}"
    load_text(text, name=name)

    def once() -> float:
        before = time.process_time()
        load_text(text, name=name)
        return time.process_time() - before

    assert min(once() for _ in range(5)) < 0.05


def test_a_binary_file_is_reported_as_unreadable(tmp_path: Path) -> None:
    (tmp_path / "openclaw.yaml").write_bytes(b"\xff\xfe\x00")

    with pytest.raises(ConfigurationError, match="cannot read the file"):
        load(env={}, cwd=tmp_path)
