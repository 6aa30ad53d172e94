"""Programs as models: `models.cli`."""

from __future__ import annotations

from tests.unit.config.conftest import LoadText, ProblemsIn


def test_a_program_needs_only_its_command(load_text: LoadText) -> None:
    given = load_text("models: {cli: {helper: {command: [helper, --print], maxOutputBytes: 1mb}}}").settings
    helper = given.models.cli["helper"]
    assert helper.command == ("helper", "--print")
    assert (helper.input, helper.output, helper.resume_args) == ("stdin", "text", ())
    assert (helper.timeout_seconds, helper.max_output_bytes) == (600, 1 << 20)


def test_impossible_program_settings_are_reported(problems_in: ProblemsIn) -> None:
    problems = problems_in(
        """
        models:
          cli:
            nothing: {command: []}
            deaf: {command: [helper], input: argument}
            odd: {command: [helper], outputs: jsonl}
        """
    )
    assert len(problems) == 3
    assert any(problem.startswith("models.cli.nothing.command: ") for problem in problems)
    assert "models.cli.deaf: expected {prompt} in command, because input is argument" in problems
    assert any("models.cli.odd.outputs" in problem for problem in problems)


def test_its_variables_are_secret(load_text: LoadText) -> None:
    given = load_text("models: {cli: {helper: {command: [h], env: {KEY: '${K}'}}}}", env={"K": "k-4711"}).settings
    assert "k-4711" not in repr(given) + given.model_dump_json()
