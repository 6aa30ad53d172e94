"""The root command: its help matches the commands, and errors show no bare traceback."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest

from openclaw_workers.cli import main as root
from openclaw_workers.cli.context import CliContext
from openclaw_workers.cli.main import COMMANDS, cli, run

NAMES = [name for section in COMMANDS.values() for name in section]


@pytest.mark.parametrize("name", NAMES)
def test_the_help_line_in_the_list_is_the_commands_own(name: str) -> None:
    command = cli.get_command(click.Context(cli), name)

    assert command is not None
    assert command.help is not None
    line = next(section[name][1] for section in COMMANDS.values() if name in section)
    assert command.help.split("\n\n")[0].replace("\n", " ") == line


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

    answer = json.loads(capsys.readouterr().out)
    assert (answer["stateDir"], answer["values"][0]["value"]) == (str(state), "here")


@pytest.mark.parametrize("name", NAMES)
def test_every_command_takes_a_state_directory(name: str) -> None:
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    for each in command.commands.values() if isinstance(command, click.Group) else [command]:
        options = [option for parameter in each.params for option in parameter.opts]
        assert (options.count("--state-dir"), options.count("--config")) == (1, 1), each.name


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
    output = capsys.readouterr()
    assert output.err.splitlines() == [
        "error: unexpected RuntimeError: the roof is on fire",
        "hint: this is a bug in ocw; OPENCLAW_DEBUG=1 shows a traceback",
    ]
    assert run(["--json", "status"]) == 70
    assert json.loads(capsys.readouterr().out)["error"]["type"] == "InternalError"
    monkeypatch.setenv("OPENCLAW_DEBUG", "1")
    run(["status"])
    assert "Traceback" in capsys.readouterr().err


def test_version_and_help_are_given(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out.startswith("ocw ")
    assert run([]) == 2, "without a command there is nothing to do"
    assert "Usage: ocw" in capsys.readouterr().err
