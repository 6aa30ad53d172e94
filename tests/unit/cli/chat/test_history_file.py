"""What was typed in earlier chats."""

from __future__ import annotations

import stat
from pathlib import Path

from prompt_toolkit.history import FileHistory, InMemoryHistory

from openclaw_workers.cli.chat.history_file import MOST_BYTES, NAME, open_history


def test_only_its_owner_can_read_it_and_the_newest_comes_first(tmp_path: Path) -> None:
    history = open_history(tmp_path)
    history.store_string("one\nof two lines")
    history.store_string("another")
    assert stat.S_IMODE((tmp_path / NAME).stat().st_mode) == 0o600
    assert list(open_history(tmp_path).load_history_strings()) == ["another", "one\nof two lines"]


def test_a_large_file_keeps_its_newer_half(tmp_path: Path) -> None:
    history = open_history(tmp_path)
    count = MOST_BYTES // 1000 + 1
    for number in range(count):
        history.store_string(f"{number} " + "x" * 1000)
    kept = list(open_history(tmp_path).load_history_strings())
    assert kept[0].startswith(f"{count - 1} ")
    assert all(each.endswith("x" * 1000) for each in kept)
    assert 400 < len(kept) < 600
    assert stat.S_IMODE((tmp_path / NAME).stat().st_mode) == 0o600


def test_without_a_directory_or_through_a_link_nothing_is_written(tmp_path: Path) -> None:
    assert isinstance(open_history(tmp_path / "missing"), InMemoryHistory)
    assert isinstance(open_history(tmp_path), FileHistory)
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / NAME).symlink_to(tmp_path / "elsewhere")
    assert isinstance(open_history(tmp_path / "linked"), InMemoryHistory)
