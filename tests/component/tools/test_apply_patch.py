"""`apply_patch` makes all changes of a patch or none."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from openclaw_workers.errors import ToolError
from openclaw_workers.tools.base import ToolContext
from openclaw_workers.tools.files import patched_files
from openclaw_workers.tools.files.apply_patch import ApplyPatch, ApplyPatchInput
from openclaw_workers.tools.files.changes import write_whole
from openclaw_workers.tools.files.paths import WorkspacePath
from tests.component.tools.conftest import Call


def patch(*lines: str) -> str:
    return "\n".join(["*** Begin Patch", *lines, "*** End Patch"])


def snapshot(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def project(workspace: Path) -> Path:
    (workspace / "src").mkdir()
    (workspace / "src/a.py").write_text("import os\n\n\ndef f():\n    return 1\n\n\ndef g():\n    return 1\n")
    (workspace / "src/run.sh").write_text("#!/bin/sh\necho one\n")
    (workspace / "src/run.sh").chmod(0o755)
    (workspace / "old.txt").write_text("old\n")
    return workspace


def test_files_are_added_changed_moved_and_deleted_together(project: Path, call: Call) -> None:
    said = call(
        "apply_patch",
        input=patch(
            "*** Add File: new/deep.txt",
            "+one",
            "+",
            "+three",
            "*** Update File: src/a.py",
            "@@ def g():",
            "-    return 1",
            "+    return 2",
            "*** Update File: src/run.sh",
            "*** Move to: bin/run.sh",
            "@@",
            " #!/bin/sh",
            "-echo one",
            "+echo two",
            "*** Delete File: old.txt",
        ),
    )
    assert said == "Applied:\nA new/deep.txt\nM src/a.py\nR src/run.sh -> bin/run.sh\nD old.txt"
    assert snapshot(project) == {
        "new/deep.txt": b"one\n\nthree\n",
        "src/a.py": b"import os\n\n\ndef f():\n    return 1\n\n\ndef g():\n    return 2\n",
        "bin/run.sh": b"#!/bin/sh\necho two\n",
    }
    assert (project / "bin/run.sh").stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        (["*** Update File: src/a.py", "-not there", "+x"], "are not in the file. Read the file and copy the lines"),
        (["*** Update File: src/a.py", "@@ class X", "-a", "+b"], "the line after @@ in line 8"),
        (["*** Update File: nope.py", "-a", "+b"], "no such file: nope.py"),
        (["*** Delete File: nope.py"], "no such file: nope.py"),
        (["*** Delete File: src"], "src is a directory"),
        (["*** Add File: old.txt", "+x"], "old.txt already exists"),
        (["*** Add File: old.txt/x", "+x"], "a part of that path is a file"),
        (["*** Update File: src/a.py", "*** Move to: old.txt", "-import os", "+import re"], "old.txt already exists"),
        (["*** Delete File: old.txt", "*** Update File: old.txt", "-old", "+new"], "deleted or moved by an earlier"),
        (["*** Add File: ../out.txt", "+x"], "outside the workspace"),
    ],
)
def test_a_change_that_does_not_fit_undoes_all_others(project: Path, call: Call, lines: list[str], why: str) -> None:
    before = snapshot(project)
    first = ["*** Add File: first.txt", "+x", "*** Update File: src/run.sh", "-echo one", "+echo two"]
    with pytest.raises(ToolError, match=why):
        call("apply_patch", input=patch(*first, *lines))
    assert snapshot(project) == before


def test_later_parts_see_what_earlier_ones_did(project: Path, call: Call) -> None:
    call(
        "apply_patch",
        input=patch(
            *("*** Update File: old.txt", "-old", "+newer"),
            *("*** Update File: old.txt", "-newer", "+newest"),
            *("*** Delete File: src/a.py", "*** Add File: src/a.py", "+again"),
            *("*** Update File: src/run.sh", "*** Move to: x.sh", "*** Add File: src/run.sh", "+other"),
        ),
    )
    assert snapshot(project) == {
        "old.txt": b"newest\n",
        "src/a.py": b"again\n",
        "x.sh": b"#!/bin/sh\necho one\n",
        "src/run.sh": b"other\n",
    }


def test_a_failure_while_writing_puts_everything_back(
    project: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = snapshot(project)
    written: list[str] = []

    def fail_at_third(place: WorkspacePath, *args: object, **more: object) -> bool:
        written.append(place.shown)
        if len(written) == 3:
            raise ToolError("the disk is full")
        return write_whole(place, *args, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(patched_files, "write_whole", fail_at_third)
    with pytest.raises(ToolError, match="the disk is full"):
        call(
            "apply_patch",
            input=patch(
                *("*** Delete File: old.txt", "*** Add File: old.txt", "+new"),
                *("*** Update File: src/a.py", "-import os", "+import re"),
                *("*** Add File: third.txt", "+x", "*** Delete File: src/run.sh"),
            ),
        )
    assert snapshot(project) == before
    assert not list(project.rglob(".ocw-*"))


def test_a_link_is_deleted_and_not_what_it_leads_to(project: Path, call: Call) -> None:
    outside = project.parent / "outside.txt"
    outside.write_text("theirs")
    (project / "to_outside").symlink_to(outside)
    (project / "to_old").symlink_to("old.txt")
    call("apply_patch", input=patch("*** Delete File: to_outside", "*** Delete File: to_old"))
    assert outside.read_text() == "theirs"
    assert (project / "old.txt").read_text() == "old\n"
    assert not (project / "to_outside").is_symlink()
    assert not (project / "to_old").is_symlink()


def test_line_ends_and_a_missing_one_at_the_end_are_kept(workspace: Path, call: Call) -> None:
    (workspace / "a.txt").write_bytes(b"one\r\ntwo\r\nthree")
    call("apply_patch", input=patch("*** Update File: a.txt", " one", "-two", "+2"))
    assert (workspace / "a.txt").read_bytes() == b"one\r\n2\r\nthree"


PATHS = st.sampled_from(
    [
        *("a.txt", "d/b.txt", "../out", "/etc/x", "out_link/x", "secret_link", "hard", "d/../../out/x", "~", "", " "),
        *("d", ".", "d/up/secret", "new/x", "a.txt/x", "loop", "out_link", "{root}/a.txt", "{root}/../out/y", "x\0y"),
    ]
)
LINES = st.sampled_from(["+new", "-old", " old", "@@", "@@ old", "*** End of File", "", "+", "-secret", "+++"])
HEADS = st.builds(
    "{}{}".format,
    st.sampled_from(["*** Add File: ", "*** Delete File: ", "*** Update File: ", "*** Move to: "]),
    PATHS,
)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.one_of(HEADS, LINES), max_size=12))
def test_no_patch_reaches_outside(workspace: Path, context: ToolContext, lines: list[str]) -> None:
    outside = workspace.parent / "out"
    outside.mkdir(exist_ok=True)
    (outside / "secret").write_text("old\nsecret\n")
    (workspace / "d").mkdir(exist_ok=True)
    (workspace / "a.txt").write_text("old\n")
    for name, target in {"out_link": outside, "secret_link": outside / "secret", "loop": Path("loop")}.items():
        if not (workspace / name).is_symlink() and not (workspace / name).exists():
            (workspace / name).symlink_to(target)
    if not (workspace / "d/up").is_symlink() and not (workspace / "d/up").exists():
        (workspace / "d/up").symlink_to("../../out")
    if not (workspace / "hard").exists():
        os.link(outside / "secret", workspace / "hard")
    text = patch(*(line.format(root=workspace) for line in lines))
    with suppress(ToolError):
        ApplyPatch().run(ApplyPatchInput(input=text), context)
    assert snapshot(outside) == {"secret": b"old\nsecret\n"}
    assert not list(workspace.parent.glob("x")), "nothing beside the workspace either"
