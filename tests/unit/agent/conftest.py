"""Property tests here take as long as a busy machine makes them take; how fast an example runs is not their subject."""

from __future__ import annotations

import hypothesis

hypothesis.settings.register_profile("unhurried", deadline=None)
hypothesis.settings.load_profile("unhurried")
