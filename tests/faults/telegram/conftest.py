"""The fixtures of the integration tests."""

from __future__ import annotations

from tests.integration.telegram.conftest import fleet, make_fleet, telegram

__all__ = ["fleet", "make_fleet", "telegram"]
