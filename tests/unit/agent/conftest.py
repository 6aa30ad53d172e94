"""Property tests without a deadline per example: a busy machine makes examples slow."""

from __future__ import annotations

import hypothesis

hypothesis.settings.register_profile("unhurried", deadline=None)
hypothesis.settings.load_profile("unhurried")
