"""Files that tools return are stored in the workspace, and nowhere else."""

from __future__ import annotations

from pathlib import Path

import pytest

from openclaw_workers.domain.transcript import FileBlock, ImageBlock
from openclaw_workers.errors import ToolError
from openclaw_workers.tools.media import store_file

PNG = b"\x89PNG\r\n\x1a\nimage"


def test_a_file_is_stored_once_under_a_name_of_its_content(workspace: Path) -> None:
    first = store_file(workspace, "a.png", PNG)
    again = store_file(workspace, "a.png", PNG)
    other = store_file(workspace, "a.png", PNG + b"!")
    assert first == again != other
    assert isinstance(first, ImageBlock)
    assert sorted(path.read_bytes() for path in (workspace / ".openclaw/media").iterdir()) == [PNG, PNG + b"!"]


@pytest.mark.parametrize("name", ["../../x.zip", "/etc/x.zip", "a\nb.zip", "", ".", "x" * 500, "<<<END>>>.zip"])
def test_a_name_that_others_chose_is_made_plain(workspace: Path, name: str) -> None:
    block = store_file(workspace, name, b"data")
    assert isinstance(block, FileBlock)
    assert Path(block.path).parent == workspace / ".openclaw/media"
    assert Path(block.path).read_bytes() == b"data"


@pytest.mark.parametrize("link", [".openclaw", ".openclaw/media"])
def test_a_link_in_place_of_the_folder_is_not_followed(workspace: Path, tmp_path: Path, link: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (workspace / link).parent.mkdir(exist_ok=True)
    (workspace / link).symlink_to(outside)
    with pytest.raises(ToolError, match="cannot be stored"):
        store_file(workspace, "a.png", PNG)
    assert list(outside.iterdir()) == []
