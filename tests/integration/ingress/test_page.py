"""The page over HTTP: its headers, its files, and the rendering of text."""

from __future__ import annotations

import pytest

from ingress.web.pages import MOST_TEXTS
from tests.support.ingress import Api


@pytest.mark.parametrize("path", ["/", "/chat", "/chat/agent%3Amain%3Amain", "/runs/run-1/run-2", "/fleet", "/usage"])
def test_every_address_of_the_page_serves_it_to_everybody(stranger: Api, path: str) -> None:
    answer = stranger.http.get(path)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    policy = answer.headers["content-security-policy"].split("; ")
    assert {"default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'"} <= set(policy)
    assert "unsafe" not in answer.headers["content-security-policy"]
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_a_file_is_sent_again_only_if_it_changed(stranger: Api) -> None:
    first = stranger.http.get("/assets/js/main.js")
    again = stranger.http.get("/assets/js/main.js", headers={"If-None-Match": first.headers["etag"]})
    plain = stranger.http.get("/assets/js/main.js", headers={"Accept-Encoding": "identity"})

    assert (first.status_code, first.headers["content-encoding"]) == (200, "gzip")
    assert (again.status_code, again.content) == (304, b"")
    assert plain.content == first.content
    assert first.headers["content-type"].startswith("text/javascript")


@pytest.mark.parametrize(
    "path", ["nothing.js", "../pages.py", "..%2f..%2fpages.py", "vendor/LICENSE-htm", "index.html", "js/", "%00"]
)
def test_no_other_file_is_served(stranger: Api, path: str) -> None:
    assert stranger.error("GET", f"/assets/{path}")[0] == 404


def test_the_page_learns_whether_somebody_is_signed_in(stranger: Api, reader: Api) -> None:
    assert stranger.http.get("/web/me").json()["me"] is None
    assert reader.http.get("/web/me").json()["me"] == {"scope": "read", "agent": None, "person": None}


def test_text_is_rendered_for_those_who_are_signed_in(stranger: Api, reader: Api) -> None:
    body = {"texts": ["**a**", "<b>", "x" * 300_000]}
    assert stranger.error("POST", "/web/render", json=body) == (401, "unauthorized")
    bold, escaped, too_long = reader.http.post("/web/render", json=body).json()["html"]
    assert bold.strip() == "<p><strong>a</strong></p>"
    assert escaped.strip() == "<p>&lt;b&gt;</p>"
    assert too_long is None


@pytest.mark.parametrize("body", ["", "[]", '{"texts": "x"}', '{"texts": [], "more": 1}', '{"texts": [1]}', "\x00"])
def test_a_wrong_request_to_render_is_refused(reader: Api, body: str) -> None:
    assert reader.error("POST", "/web/render", content=body)[0] == 422


def test_too_much_to_render_is_refused(reader: Api) -> None:
    assert reader.error("POST", "/web/render", json={"texts": ["x"] * (MOST_TEXTS + 1)})[0] == 422
    assert reader.error("POST", "/web/render", content=b" " * (5 << 20))[0] == 413
