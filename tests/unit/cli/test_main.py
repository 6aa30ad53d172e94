"""The root command: quick help that tells the truth, and errors that never show a bare traceback."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import click
import pytest

from openclaw_workers.cli import main as root
from openclaw_workers.cli.context import CliContext
from openclaw_workers.cli.main import COMMANDS, cli, run

NAMES = [name for section in COMMANDS.values() for name in section]


def test_help_imports_none_of_the_commands() -> None:
    heavy = ("pydantic", "redis", "celery", "yaml", "rich")
    code = (
        "import sys; from openclaw_workers.cli.main import run; run(['--help']); "
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("name", NAMES)
def test_the_one_line_in_the_list_is_the_commands_own(name: str) -> None:
    command = cli.get_command(click.Context(cli), name)

    assert command is not None
    assert command.help is not None
    told = next(section[name][1] for section in COMMANDS.values() if name in section)
    assert command.help.split("\n\n")[0].replace("\n", " ") == told


@pytest.mark.parametrize("name", NAMES)
def test_every_command_takes_json_and_shows_examples(name: str) -> None:
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    for each in command.commands.values() if isinstance(command, click.Group) else [command]:
        context = click.Context(each, info_name=name, obj=CliContext())
        options = {option for parameter in each.params for option in parameter.opts}
        assert "--json" in options, each.name
        assert "Example" in each.get_help(context), each.name


@pytest.mark.parametrize(
    "words",
    [
        ["--config", "{file}", "--state-dir", "{dir}", "config", "show", "session.mainKey", "--json"],
        ["config", "show", "session.mainKey", "--json", "--config", "{file}", "--state-dir", "{dir}"],
        [
            "--config",
            "nowhere.yaml",
            "config",
            "--state-dir",
            "{dir}",
            "show",
            "--config={file}",
            "session.mainKey",
            "--json",
        ],
    ],
)
def test_configuration_and_state_directory_are_named_before_or_after_the_command(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, state = tmp_path / "own.yaml", tmp_path / "state"
    file.write_text("session: {mainKey: here}")

    assert run([word.format(file=file, dir=state) for word in words]) == 0

    told = json.loads(capsys.readouterr().out)
    assert (told["stateDir"], told["values"][0]["value"]) == (str(state), "here")


@pytest.mark.parametrize("name", NAMES)
def test_every_command_takes_a_state_directory(name: str) -> None:
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    for each in command.commands.values() if isinstance(command, click.Group) else [command]:
        options = [option for parameter in each.params for option in parameter.opts]
        assert (options.count("--state-dir"), options.count("--config")) == (1, 1), each.name


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script_for_the_shell(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["completion", shell]) == 0
    assert "_OCW_COMPLETE" in capsys.readouterr().out


def test_commands_and_options_are_completed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("_OCW_COMPLETE", "bash_complete")
    for words, expected in (("ocw se", "plain,sessions"), ("ocw agent --no", "plain,--no-wait")):
        monkeypatch.setenv("COMP_WORDS", words)
        monkeypatch.setenv("COMP_CWORD", str(len(words.split()) - 1))
        with pytest.raises(SystemExit):
            run([])
        assert expected in capsys.readouterr().out


def test_an_unexpected_error_is_one_line_with_a_hint(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    @click.command()
    def broken() -> None:
        raise RuntimeError("the roof is on fire")

    monkeypatch.setattr(root.cli, "get_command", lambda *_: broken)

    assert run(["status"]) == 70
    told = capsys.readouterr()
    assert told.err.splitlines() == [
        "error: unexpected RuntimeError: the roof is on fire",
        "hint: this is a bug in ocw; OPENCLAW_DEBUG=1 shows a traceback",
    ]
    assert run(["--json", "status"]) == 70
    assert json.loads(capsys.readouterr().out)["error"]["type"] == "InternalError"
    monkeypatch.setenv("OPENCLAW_DEBUG", "1")
    run(["status"])
    assert "Traceback" in capsys.readouterr().err


OCW = [sys.executable, "-m", "openclaw_workers.cli.main"]


@pytest.mark.parametrize("words", [["config", "show"], ["--help"], ["--version"], ["sessions", "--help"]])
def test_a_reader_that_closes_the_pipe_is_not_a_failure(words: list[str]) -> None:
    command = [*OCW, *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        told = process.stderr.read()

    assert (process.returncode, told) == (0, "")


@pytest.mark.parametrize(("closed", "words", "code"), [(">&-", ("config", "check"), 0), ("2>&-", ("nonsense",), 2)])
def test_a_closed_output_is_not_a_bug(closed: str, words: tuple[str, ...], code: int) -> None:
    command = ["sh", "-c", f'exec "$@" {closed}', "sh", *OCW, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout + done.stderr) == (code, "")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has a disk that is always full")
@pytest.mark.parametrize("words", [("config", "show"), ("config", "check", "--json"), ("--help",)])
def test_a_full_disk_has_its_own_exit_code(words: tuple[str, ...]) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([*OCW, *words], stdout=full, stderr=subprocess.PIPE, text=True, check=False)

    assert (done.returncode, done.stderr) == (74, "error: cannot write: No space left on device\n")


def test_version_and_help_are_given(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out.startswith("ocw ")
    assert run([]) == 2, "without a command there is nothing to do"
    assert "Usage: ocw" in capsys.readouterr().err
