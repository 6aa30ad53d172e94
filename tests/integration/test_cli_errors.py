"""Error messages and exit codes of `ocw`."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.support.fleet import Fleet
from tests.support.ocw import Done, Ocw


def _both(ocw: Ocw, *words: str, **env: str) -> tuple[Done, Done]:
    """The same failure as text and as JSON."""
    return ocw(*words, env=env), ocw(*words, "--json", env=env)


@pytest.mark.parametrize(
    ("words", "code", "kind", "message"),
    [
        (("agent", "-m", "  "), 2, "BadInput", "empty"),
        (("agent",), 2, "BadInput", "empty"),
        (("agent", "hello", "-m", "hello"), 2, "BadInput", "the message is given twice"),
        (("agent", "-m", "x", "--session", ""), 2, "UsageError", "it is empty; leave the option out"),
        (("agent", "-m", "x", "--agent", "nobody"), 5, "NotFound", "no agent 'nobody'"),
        (
            ("agent", "-m", "x", "--model", "nothing"),
            2,
            "BadInput",
            "'nothing' is not a model; expected provider/model or",
        ),
        (
            ("agent", "-m", "x", "--model", "nosuch/x"),
            2,
            "BadInput",
            "'nosuch/x' is not a model; expected provider/model",
        ),
        (("agent", "-m", "x", "--model", ""), 2, "BadInput", "'' is not a model; expected provider/model"),
        (("agent", "-m", "/model nosuch/x"), 2, "BadInput", "'nosuch/x' is not a model; expected provider/model"),
        (("agent", "-m", "/queue sideways"), 2, "BadInput", "'sideways' is not a queue mode"),
        (("sessions", "show", "nowhere"), 5, "NotFound", "no session agent:main:nowhere"),
        (("runs", "show", "run-0"), 5, "NotFound", "no run run-0"),
        (("sessions", "list", "--agent", "nope"), 5, "NotFound", "no agent 'nope'"),
    ],
)
def test_each_failure_has_its_own_exit_code(
    ocw_cli: Ocw, words: tuple[str, ...], code: int, kind: str, message: str
) -> None:
    text, json = _both(ocw_cli, *words)

    assert text.code == json.code == code
    assert text.out == ""
    assert text.err.startswith("error: ")
    assert message in text.err
    assert "Traceback" not in text.err
    assert json.json["ok"] is False
    assert set(json.json) == {"ok", "error"}
    assert set(json.json["error"]) == {"type", "message", "hint"}
    assert json.json["error"]["type"] == kind
    assert message in json.json["error"]["message"]


@pytest.mark.parametrize("words", [("agent", "-m", "-"), ("chat",)])
def test_a_closed_standard_input_is_not_a_bug(ocw_cli: Ocw, words: tuple[str, ...]) -> None:
    command = ["/bin/sh", "-c", 'exec "$@" <&-', "sh", *ocw_cli.argv(*words)]
    done = subprocess.run(command, env=ocw_cli.env, capture_output=True, text=True, timeout=60, check=False)

    assert done.returncode == 2
    assert "standard input is closed" in done.stderr


@pytest.mark.parametrize(
    "words", ["sessions list", "sessions history main", "runs list", "runs tree", "subagents list"]
)
def test_a_count_that_is_too_large_is_refused(ocw_cli: Ocw, words: str) -> None:
    done = ocw_cli(*words.split(), "--limit", str(10**23), "--json")

    assert done.code == 2
    assert "--limit" in done.json["error"]["message"]


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("runs", "show", "run-\udcff"), 5),
        (("agent", "-m", "caf\udce9", "--no-wait"), 2),
        (("subagents", "send", "1", "caf\udce9"), 2),
        (("agent", "-m", "x", "--model", "offline/\udcff", "--no-wait"), 2),
        (("agent", "-m", "x", "--message-id", "\udcff", "--no-wait"), 0),
        (("agent", "-m", "x", "--thread", "\udcff"), 5),
    ],
)
def test_arguments_that_are_not_utf8_are_not_a_bug(ocw_cli: Ocw, words: tuple[str, ...], code: int) -> None:
    assert ocw_cli(*words, "--json").code == code


@pytest.mark.parametrize("words", [("agent",), ("agent", "-m", "-"), ("chat",), ("subagents", "send", "1", "-")])
def test_input_that_is_not_utf8_is_refused(ocw_cli: Ocw, words: tuple[str, ...]) -> None:
    done = ocw_cli(*words, stdin="caf\udce9")

    assert (done.code, done.out) == (2, "")
    assert "is not UTF-8 (byte 3 is 0xe9)" in done.err
    assert "iconv" in done.err


def test_every_problem_of_the_configuration_is_reported_at_once(ocw_cli: Ocw, tmp_path: Path) -> None:
    broken = tmp_path / "openclaw.yaml"
    broken.write_text("engine: {leaseSecond: 3}\nlanes: {main: {concurrency: 0}}\n")

    text, json = _both(ocw_cli, "status", OPENCLAW_CONFIG=str(broken))

    assert text.code == json.code == 3
    assert "leaseSecond" in text.err
    assert "lanes.main.concurrency" in text.err
    assert json.json["error"]["type"] == "ConfigurationError"


@pytest.mark.parametrize("option", ["foo=bar", "db=first"])
def test_an_unknown_option_in_the_redis_url_is_a_configuration_error(ocw_cli: Ocw, option: str) -> None:
    text, json = _both(ocw_cli, "status", REDIS_URL=f"redis://:hidden@127.0.0.1:1/0?{option}")

    assert text.code == json.code == 3
    assert "environment REDIS_URL: expected" in text.err
    assert repr(option.partition("=")[0]) in text.err
    assert "hidden" not in text.err
    assert json.json["error"]["type"] == "ConfigurationError"


def test_an_unreachable_redis_exits_with_four(ocw_cli: Ocw) -> None:
    text, json = _both(ocw_cli, "status", REDIS_URL="redis://127.0.0.1:1/0")

    assert text.code == json.code == 4
    assert "hint: check that Redis runs" in text.err
    assert json.json["error"]["type"] == "StoreUnavailable"


@pytest.mark.parametrize("words", [("status",), ("agent", "-m", "hello"), ("up", "--no-flower")])
def test_a_wrong_password_is_named_as_such(live_fleet: Fleet, words: tuple[str, ...]) -> None:
    wrong = live_fleet.redis_server.url.replace("redis://", "redis://nobody:hidden@")
    text, json = _both(Ocw(live_fleet), *words, REDIS_URL=wrong)

    assert text.code == json.code == 4
    assert "Redis refused the user or password (invalid username-password pair" in text.err
    assert "hidden" not in text.err + json.out
    assert "did not answer" not in text.err
    assert "may or may not" not in text.err
    assert json.json["error"]["type"].startswith("Store")


@pytest.mark.parametrize("words", [("sessions", "list"), ("agent", "-m", "hello"), ("status",), ("runs", "watch")])
def test_no_running_instance_exits_with_four(live_fleet: Fleet, tmp_path: Path, words: tuple[str, ...]) -> None:
    ocw = Ocw(live_fleet)
    for name in ("REDIS_URL", "OPENCLAW_CONFIG"):
        del ocw.env[name]

    text, json = _both(ocw, *words, OPENCLAW_STATE_DIR=str(tmp_path))

    assert text.code == json.code == 4
    assert "hint: start everything with " in text.err
    assert text.err.endswith(f"ocw --state-dir {tmp_path} up` in another terminal\n")
    assert json.json["error"]["type"] == "StoreUnavailable"


def test_a_misspelt_command_suggests_the_right_one(ocw_cli: Ocw) -> None:
    text = ocw_cli("sesions")

    assert text.code == 2
    assert "sessions" in text.err
