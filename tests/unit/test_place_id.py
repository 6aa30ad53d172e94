"""Places are known by a random id in a file, which all who share the directory agree on."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from openclaw_workers.place_id import ID, WORKSPACE_FILE, make_place, seen_place, write_place


def test_a_place_is_made_on_first_use_and_keeps_its_id(tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    assert seen_place(workspace) == ""

    place = make_place(workspace)

    assert ID.fullmatch(place)
    assert make_place(workspace) == seen_place(workspace) == place
    assert [path.name for path in workspace.iterdir()] == [WORKSPACE_FILE]


def test_all_who_make_a_place_at_the_same_time_agree(tmp_path: Path) -> None:
    with ThreadPoolExecutor(16) as pool:
        made = set(pool.map(lambda _: make_place(tmp_path), range(64)))
    assert made == {seen_place(tmp_path)}


def test_a_directory_that_has_an_id_keeps_it(tmp_path: Path) -> None:
    place = make_place(tmp_path)
    write_place(tmp_path, "0" * 32)
    assert seen_place(tmp_path) == place


@pytest.mark.parametrize("text", ["", "main", "../../etc", "0" * 31, "0" * 33, "G" * 32, "é" * 16])
def test_what_is_no_id_is_not_seen(tmp_path: Path, text: str) -> None:
    (tmp_path / WORKSPACE_FILE).write_text(text)
    assert seen_place(tmp_path) == ""
    with pytest.raises(OSError, match="does not hold the id of a place"):
        make_place(tmp_path)


def test_a_link_and_a_pipe_are_not_read(tmp_path: Path) -> None:
    place = make_place(tmp_path / "other")
    linked = tmp_path / "linked"
    linked.mkdir()
    (linked / WORKSPACE_FILE).symlink_to(tmp_path / "other" / WORKSPACE_FILE)
    piped = tmp_path / "piped"
    piped.mkdir()
    os.mkfifo(piped / WORKSPACE_FILE)
    assert place
    assert seen_place(linked) == seen_place(piped) == ""
