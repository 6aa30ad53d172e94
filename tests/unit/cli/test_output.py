"""Exit codes, and errors about numbers."""

from __future__ import annotations

from typing import Any

import click
import pytest

from openclaw_workers.cli.output import COUNT, Dollars, Exit, Seconds, exit_code
from openclaw_workers.client.deadline import WaitOver
from openclaw_workers.errors import (
    BadInput,
    ConfigurationError,
    ConflictError,
    NotFound,
    OpenClawError,
    StoreUnavailable,
)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (OpenClawError("x"), 1),
        (BadInput("x"), 2),
        (ConfigurationError(["x"]), 3),
        (StoreUnavailable("x"), 4),
        (NotFound("x"), 5),
        (ConflictError("x"), 6),
        (WaitOver("x"), 124),
    ],
)
def test_each_kind_of_error_has_the_documented_code(error: OpenClawError, code: int) -> None:
    assert exit_code(error) is Exit(code)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [(Seconds(), "number of seconds"), (COUNT, "whole number"), (Dollars(), "amount in dollars")],
)
def test_what_is_not_a_number_is_told_what_was_expected(kind: click.ParamType[Any], expected: str) -> None:
    with pytest.raises(click.BadParameter, match=f"'abc' is not a valid {expected}"):
        kind.convert("abc", None, None)
