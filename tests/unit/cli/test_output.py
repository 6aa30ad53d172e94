"""Exit codes."""

from __future__ import annotations

import pytest

from openclaw_workers.cli.output import Exit, exit_code
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
