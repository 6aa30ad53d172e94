"""Adding a skill from a folder or a zip file: nothing lands outside its folder, and what it holds is known first."""

from __future__ import annotations

import io
import stat
import zipfile
from pathlib import Path

import pytest

from openclaw_workers.errors import BadInput, ConflictError
from openclaw_workers.skills import install as module
from openclaw_workers.skills.install import create, install, open_package
from openclaw_workers.skills.skill import Source, parse_skill
from tests.component.skills.conftest import put, text_of


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    folder = tmp_path / "scratch"
    folder.mkdir()
    return folder


def zipped(path: Path, files: dict[str, str | bytes], modes: dict[str, int] | None = None) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            item = zipfile.ZipInfo(name)
            item.external_attr = (modes or {}).get(name, stat.S_IFREG | 0o644) << 16
            archive.writestr(item, content)
    return path


def test_a_folder_is_copied_with_its_files(tmp_path: Path, scratch: Path) -> None:
    source = put(tmp_path / "from", "notes").parent
    (source / "scripts").mkdir()
    (source / "scripts" / "run.sh").write_text("#!/bin/sh\n")
    (source / ".git").mkdir()
    (source / ".git" / "config").write_text("")

    (package,) = open_package(source, scratch)
    assert [(file.path, file.is_program) for file in package.files] == [("SKILL.md", False), ("scripts/run.sh", True)]
    target = install(package, tmp_path / "skills")
    assert (target / "scripts" / "run.sh").read_text() == "#!/bin/sh\n"
    assert sorted(each.name for each in (tmp_path / "skills").iterdir()) == ["notes"]


def test_a_zip_file_may_hold_several_skills(tmp_path: Path, scratch: Path) -> None:
    source = zipped(
        tmp_path / "a.zip",
        {"top/one/SKILL.md": text_of("one"), "top/two/SKILL.md": text_of("two"), "__MACOSX/x": "", "top/README": "r"},
        {"top/one/SKILL.md": stat.S_IFREG | 0o755},
    )
    assert [package.skill.name for package in open_package(source, scratch)] == ["one", "two"]


@pytest.mark.parametrize(
    "name", ["../evil.txt", "a/../../evil.txt", "/evil.txt", "C:/evil.txt", "a\\..\\..\\evil.txt", "./x"]
)
def test_names_that_lead_out_of_a_zip_file_are_refused(tmp_path: Path, scratch: Path, name: str) -> None:
    source = zipped(tmp_path / "a.zip", {"SKILL.md": text_of("a"), name: "evil"})
    with pytest.raises(BadInput, match="leads out of its folder"):
        open_package(source, scratch)
    assert not list(tmp_path.rglob("evil.txt"))


def test_links_are_refused(tmp_path: Path, scratch: Path) -> None:
    source = zipped(tmp_path / "a.zip", {"SKILL.md": text_of("a"), "l": "/etc/passwd"}, {"l": stat.S_IFLNK | 0o777})
    with pytest.raises(BadInput, match="is a link"):
        open_package(source, scratch)
    folder = put(tmp_path / "from", "b").parent
    (folder / "l").symlink_to("/etc/passwd")
    (tmp_path / "again").mkdir()
    with pytest.raises(BadInput, match="is a link"):
        open_package(folder, tmp_path / "again")


def test_a_zip_file_that_unpacks_to_too_much_is_refused(
    tmp_path: Path, scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_TOTAL_BYTES", 100_000)
    source = zipped(tmp_path / "a.zip", {"SKILL.md": text_of("a"), "zeros": b"\0" * 1_000_000})
    with pytest.raises(BadInput, match="more than 100,000 bytes"):
        open_package(source, scratch)


def test_what_is_no_skill_is_refused(tmp_path: Path, scratch: Path) -> None:
    with pytest.raises(BadInput, match="there is no"):
        open_package(tmp_path / "missing", scratch)
    (tmp_path / "text.zip").write_bytes(io.BytesIO(b"no zip").getvalue())
    with pytest.raises(BadInput, match="not a zip file"):
        open_package(tmp_path / "text.zip", scratch)
    (tmp_path / "second").mkdir()
    with pytest.raises(BadInput, match=r"holds no SKILL\.md"):
        open_package(zipped(tmp_path / "b.zip", {"a.txt": ""}), tmp_path / "second")
    (tmp_path / "third").mkdir()
    with pytest.raises(BadInput, match="no description"):
        open_package(zipped(tmp_path / "c.zip", {"SKILL.md": "---\nname: a\n---\n"}), tmp_path / "third")


@pytest.mark.parametrize("name", ["../up", "a/b", ".hidden", "a\tb"])
def test_a_name_is_the_name_of_a_folder(tmp_path: Path, name: str) -> None:
    with pytest.raises(BadInput, match="not a name for a skill"):
        create(name, "d", tmp_path)


def test_a_skill_is_replaced_only_if_that_is_said(tmp_path: Path, scratch: Path) -> None:
    (package,) = open_package(put(tmp_path / "from", "a", "new").parent, scratch)
    put(tmp_path / "skills", "a", "old")
    with pytest.raises(ConflictError):
        install(package, tmp_path / "skills")
    target = install(package, tmp_path / "skills", replace=True)
    assert "new" in (target / "SKILL.md").read_text()


def test_a_new_skill_can_be_read_as_it_is(tmp_path: Path) -> None:
    path = create("invoice-check", "Check invoices: all of them.", tmp_path)
    assert parse_skill(path.read_text(), str(path), Source.WORKSPACE).name == "invoice-check"
    with pytest.raises(ConflictError):
        create("invoice-check", "d", tmp_path)
