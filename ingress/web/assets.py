"""The files of the page, read once when the ingress starts: a request can name no other file."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

STATIC = Path(__file__).parent / "static"
MEDIA_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
"""Other files, such as licences, are not served."""
MODULES = b"<!-- modules -->"


@dataclass(frozen=True, slots=True)
class Asset:
    body: bytes
    compressed: bytes
    media_type: str
    etag: str


def load_assets(folder: Path = STATIC) -> Mapping[str, Asset]:
    """Each served file by its path below the folder, with forward slashes."""
    files = sorted(file for file in folder.rglob("*") if file.suffix in MEDIA_TYPES)
    paths = [file.relative_to(folder).as_posix() for file in files]
    modules = _preload_links(path for path in paths if path.endswith(".js") and path != "js/theme.js")
    return {
        path: _asset(file.read_bytes().replace(MODULES, modules), MEDIA_TYPES[file.suffix])
        for path, file in zip(paths, files, strict=True)
    }


def _preload_links(paths: Iterable[str]) -> bytes:
    """Let the browser fetch all modules at once, instead of one level of imports after the other."""
    return "\n    ".join(f'<link rel="modulepreload" href="/assets/{path}" />' for path in paths).encode()


def _asset(body: bytes, media_type: str) -> Asset:
    etag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    return Asset(body, gzip.compress(body, mtime=0), media_type, etag)
