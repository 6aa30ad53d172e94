"""The files of the page: complete, self-contained, and only those."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from ingress.web.assets import STATIC, load_assets

ASSETS = load_assets()
SCRIPTS = sorted(path for path in ASSETS if path.startswith("js/"))
OWN_FILES = sorted(path for path in ASSETS if not path.startswith("vendor/"))


def text_of(path: str) -> str:
    return ASSETS[path].body.decode()


@pytest.mark.parametrize("path", OWN_FILES)
def test_no_file_names_another_host(path: str) -> None:
    addresses = re.findall(r"(?:https?:)?//[\w.-]+\.\w+", text_of(path))
    assert [each for each in addresses if "www.w3.org" not in each] == []


@pytest.mark.parametrize("path", SCRIPTS)
def test_every_import_leads_to_a_file_of_the_page(path: str) -> None:
    folder = Path(path).parent
    for target in re.findall(r'from "([^"]+)"', text_of(path)):
        assert target.startswith("."), f"{path} imports {target}"
        parts: list[str] = []
        for part in (folder / target).parts:
            parts = parts[:-1] if part == ".." else [*parts, part]
        assert "/".join(parts) in ASSETS, f"{path} imports {target}"


@pytest.mark.parametrize("path", SCRIPTS)
def test_every_imported_name_is_exported_and_used(path: str) -> None:
    script = text_of(path)
    for names, target in re.findall(r'import \{([^}]+)\} from "([^"]+)"', script):
        exporting = (STATIC / path).parent.joinpath(target).resolve().read_text()
        for name in (each.strip() for each in names.split(",") if each.strip()):
            assert re.search(rf"export [^;]*\b{name}\b|as {name}[,}}]", exporting), f"{target} exports no {name}"
            assert len(re.findall(rf"\b{name}\b", script)) > 1, f"{path} does not use {name}"


def test_the_page_asks_for_files_that_exist() -> None:
    asked = re.findall(r'(?:src|href)="/assets/([^"]+)"', text_of("index.html"))
    assert set(asked) <= set(ASSETS)
    assert {path for path in SCRIPTS if path != "js/theme.js"} <= set(asked), "modules are fetched at once"


def test_the_page_has_no_inline_script_or_style() -> None:
    page = text_of("index.html")
    assert re.findall(r"<script(?![^>]*\bsrc=)|<style|\bon\w+=|\bstyle=", page) == []


def test_the_vendored_code_has_its_licences() -> None:
    names = {file.name for file in (STATIC / "vendor").iterdir()}
    assert names == {"htm-preact-standalone.module.js", "LICENSE-htm", "LICENSE-preact", "README.md"}
    assert not any("LICENSE" in path or path.endswith(".md") for path in ASSETS)


def test_the_package_includes_every_file() -> None:
    project = tomllib.loads((Path(__file__).parents[4] / "pyproject.toml").read_text())
    assert project["tool"]["setuptools"]["package-data"]["ingress.web"] == ["static/**/*"]
