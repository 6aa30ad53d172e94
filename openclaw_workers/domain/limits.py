"""Limits that commands name in their options, without loading the settings."""

from __future__ import annotations

from typing import Final

WEEK_SECONDS: Final = 7 * 86_400
"""No turn may last longer, because its record expires after that time."""
