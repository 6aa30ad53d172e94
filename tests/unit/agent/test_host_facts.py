"""The facts about the host in the system prompt."""

from __future__ import annotations

from pathlib import Path

import pytest

from openclaw_workers.agent.prompt.host_facts import repo_of
from openclaw_workers.clock import zone_name


@pytest.mark.parametrize(
    ("target", "name"),
    [
        ("/usr/share/zoneinfo/Europe/Berlin", "Europe/Berlin"),
        ("../usr/share/zoneinfo/posix/America/Argentina/Ushuaia", "America/Argentina/Ushuaia"),
        ("/usr/share/zoneinfo/UTC", "UTC"),
        ("/var/lib/somewhere", ""),
        ("/usr/share/zoneinfo/../../passwd", ""),
    ],
)
def test_the_local_zone_is_what_the_machine_links_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str, name: str
) -> None:
    monkeypatch.delenv("TZ", raising=False)
    (tmp_path / "localtime").symlink_to(target)
    assert zone_name("local", tmp_path / "localtime") == name
    assert zone_name("Asia/Tokyo", tmp_path / "localtime") == "Asia/Tokyo"


@pytest.mark.parametrize(
    ("given", "name"),
    [("Asia/Shanghai", "Asia/Shanghai"), (":Asia/Shanghai", "Asia/Shanghai"), ("CET-1CEST,M3.5.0,M10.5.0/3", "")],
)
def test_the_tz_variable_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str, name: str) -> None:
    monkeypatch.setenv("TZ", given)
    (tmp_path / "localtime").symlink_to("/usr/share/zoneinfo/Europe/Berlin")
    assert zone_name("local", tmp_path / "localtime") == name


def test_without_a_known_zone_the_name_is_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TZ", raising=False)
    assert zone_name("local", tmp_path / "localtime") == ""
    (tmp_path / "localtime").write_bytes(b"TZif")
    assert zone_name("local", tmp_path / "localtime") == ""


def test_the_nearest_repository_is_found(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / ".git").mkdir()
    assert repo_of(inner) == str(tmp_path)
    (tmp_path / "a" / ".git").write_text("gitdir: elsewhere")
    assert repo_of(inner) == str(tmp_path / "a")
