"""A stand-in for a Qdrant server: the part of its HTTP interface that we use, on stored points.

It really filters, scores and ranks: dense vectors by cosine, sparse ones by dot product with the rarity of each term in
the corpus that the query names. It is no Qdrant: what a real server does beyond this was not seen.
"""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Stored = dict[str, Any]


@dataclass
class _Collection:
    config: dict[str, Any]
    points: dict[str, Stored] = field(default_factory=dict)
    indexed: set[str] = field(default_factory=set)

    def matching(self, given: Mapping[str, Any] | None) -> list[Stored]:
        return [point for point in self.points.values() if _matches(point["payload"], given or {})]

    def query(self, asked: Mapping[str, Any]) -> list[dict[str, Any]]:
        using, vector = asked["using"], asked["query"]
        vector = vector.get("nearest", vector) if isinstance(vector, dict) else vector
        found = [point for point in self.matching(asked.get("filter")) if using in point["vector"]]
        if isinstance(vector, dict):
            weights = self._rarity(vector["indices"], using, asked.get("params") or {})
            scored = [(_dot(vector, point["vector"][using], weights), point) for point in found]
            scored = [each for each in scored if each[0] > 0]
        else:
            scored = [(_cosine(vector, point["vector"][using]), point) for point in found]
        scored.sort(key=lambda each: (-each[0], each[1]["id"]))
        return [
            {
                "id": point["id"],
                "version": 1,
                "score": score,
                "payload": point["payload"] if asked.get("with_payload") else None,
            }
            for score, point in scored[: asked["limit"]]
        ]

    def _rarity(self, terms: Iterable[int], using: str, params: Mapping[str, Any]) -> dict[int, float]:
        corpus = [
            point["vector"][using]
            for point in self.matching((params.get("idf") or {}).get("corpus"))
            if using in point["vector"]
        ]
        count = len(corpus)
        holding = {term: sum(term in set(vector["indices"]) for vector in corpus) for term in terms}
        return {term: math.log((count - n + 0.5) / (n + 0.5) + 1) for term, n in holding.items()}


class QdrantServer:
    def __init__(self, api_key: str = "") -> None:
        self.collections: dict[str, _Collection] = {}
        self.requests: list[str] = []
        self.is_down = False
        self.api_key = api_key
        self._lock = threading.Lock()

    def answer(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        with self._lock:
            self.requests.append(f"{method} {path}")
            parts = path.split("?", maxsplit=1)[0].strip("/").split("/")
            if parts == ["collections"]:
                return 200, {"collections": [{"name": name} for name in self.collections]}
            name, rest = parts[1], "/".join(parts[2:])
            return self._on_collection(method, name, rest, body)

    def _on_collection(self, method: str, name: str, rest: str, body: Any) -> tuple[int, Any]:
        match method, rest:
            case "GET", "exists":
                return 200, {"exists": name in self.collections}
            case "PUT", "":
                self.collections[name] = _Collection(body)
                return 200, True
            case "DELETE", "":
                self.collections.pop(name, None)
                return 200, True
        if name not in self.collections:
            return 404, None
        return self._on_points(self.collections[name], f"{method} {rest}", body)

    def _on_points(self, found: _Collection, call: str, body: Any) -> tuple[int, Any]:
        done = {"operation_id": 1, "status": "completed"}
        match call:
            case "PUT index":
                found.indexed.add(body["field_name"])
            case "PUT points":
                found.points |= {str(point["id"]): point for point in body["points"]}
            case "POST points/delete":
                ids = body.get("points") or [point["id"] for point in found.matching(body["filter"])]
                for each in ids:
                    found.points.pop(str(each), None)
            case "POST points/query/batch":
                return 200, [{"points": found.query(asked)} for asked in body["searches"]]
            case "POST points":
                wanted = (found.points.get(str(each)) for each in body["ids"])
                return 200, [{"id": each["id"], "payload": each["payload"]} for each in wanted if each]
            case "POST points/scroll":
                return 200, _page(found.matching(body.get("filter")), body)
            case "POST points/count":
                return 200, {"count": len(found.matching(body.get("filter")))}
            case _:
                return 404, None
        return 200, done


def _page(found: list[Stored], body: Mapping[str, Any]) -> dict[str, Any]:
    found = sorted(found, key=lambda point: str(point["id"]))
    start = str(body.get("offset") or "")
    left = [point for point in found if str(point["id"]) >= start]
    limit = body["limit"]
    after = left[limit]["id"] if len(left) > limit else None
    points = [{"id": point["id"], "payload": point["payload"]} for point in left[:limit]]
    return {"points": points, "next_page_offset": after}


def _matches(payload: Mapping[str, Any], given: Mapping[str, Any]) -> bool:
    return all(_holds(payload, each) for each in given.get("must") or []) and not any(
        _holds(payload, each) for each in given.get("must_not") or []
    )


def _holds(payload: Mapping[str, Any], condition: Mapping[str, Any]) -> bool:
    value, match = payload.get(condition["key"]), condition["match"]
    return value in match["any"] if "any" in match else bool(value == match["value"])


def _dot(query: Mapping[str, Any], stored: Mapping[str, Any], weights: Mapping[int, float]) -> float:
    values = dict(zip(stored["indices"], stored["values"], strict=True))
    pairs = zip(query["indices"], query["values"], strict=True)
    return float(sum(value * values[term] * weights[term] for term, value in pairs if term in values))


def _cosine(one: list[float], other: list[float]) -> float:
    lengths = math.hypot(*one) * math.hypot(*other)
    return sum(a * b for a, b in zip(one, other, strict=True)) / lengths if lengths else 0.0


@contextmanager
def qdrant_server(api_key: str = "") -> Iterator[tuple[str, QdrantServer]]:
    """A running stand-in and its address."""
    state = QdrantServer(api_key)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_any(self) -> None:
            size = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(size)) if size else None
            if state.is_down:
                status, result = 503, None
            elif state.api_key and self.headers.get("api-key") != state.api_key:
                status, result = 401, None
            else:
                status, result = state.answer(self.command, self.path, body)
            word = "ok" if status == 200 else {"error": f"status {status}"}
            data = json.dumps({"result": result, "status": word, "time": 0.0}).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_PUT = do_POST = do_DELETE = handle_any  # noqa: N815

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            """Silent."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", state
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
