"""A small MCP server without an SDK, of the protocol with a handshake, that misbehaves on request.

It starts in a few milliseconds. Each start leaves a line in the file that STARTS names, each hanging call in HANGS.
"""

from __future__ import annotations

import base64
import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

PNG = b"\x89PNG\r\n\x1a\nstub"
OBJECT = {"type": "object", "properties": {}}
TOOLS = {
    "echo": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
    "odd.name": {"type": "object", "properties": {"what is it?": {"type": "string"}}},
    **dict.fromkeys(("env", "hang", "die", "flood", "huge", "long", "picture", "fail", "change", "junk"), OBJECT),
}


def send(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def note(variable: str) -> None:
    """Leave a line with our process id in the file that the variable names."""
    if path := os.environ.get(variable):
        with open(path, "a", encoding="utf-8") as file:
            file.write(f"{os.getpid()}\n")


def text(said: str, *, is_error: bool = False) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": said}], "isError": is_error}


def hang() -> None:
    note("HANGS")
    time.sleep(1000)


def die() -> None:
    sys.stderr.write(f"the secret is {os.environ.get('TOKEN')}\n")
    sys.stderr.flush()
    os._exit(3)


def flood() -> None:
    while True:
        sys.stdout.write("x" * 65536)


def change() -> None:
    TOOLS.pop("fail", None)
    TOOLS["new"] = OBJECT
    send({"method": "notifications/tools/list_changed"})


def junk() -> None:
    sys.stdout.write("this is no JSON\n" * 5)


DEEDS: dict[str, Callable[[], None]] = {"hang": hang, "die": die, "flood": flood, "change": change, "junk": junk}
PICTURE = {"type": "image", "data": base64.b64encode(PNG).decode(), "mimeType": "image/png"}


def call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    if name in DEEDS:
        DEEDS[name]()
    answers: dict[str, Callable[[], dict[str, Any]]] = {
        "echo": lambda: text(arguments["text"]),
        "odd.name": lambda: text(json.dumps(arguments)),
        "env": lambda: text(json.dumps({**os.environ, "cwd": os.getcwd()})),
        "huge": lambda: text("y" * 300_000),
        "long": lambda: text("z" * 20_000),
        "picture": lambda: {"content": [PICTURE]},
        "fail": lambda: text("no such thing", is_error=True),
    }
    return answers.get(name, lambda: text(f"{name} done"))()


def answer(message: dict[str, Any]) -> dict[str, Any] | None:
    match message.get("method"):
        case "initialize":
            version = message["params"]["protocolVersion"]
            capabilities = {"tools": {"listChanged": True}}
            info = {"name": "stub", "version": "1.0"}
            return {"result": {"protocolVersion": version, "capabilities": capabilities, "serverInfo": info}}
        case "tools/list":
            listed = [{"name": name, "description": f"It does {name}.", "inputSchema": TOOLS[name]} for name in TOOLS]
            return {"result": {"tools": listed}}
        case "tools/call":
            params = message["params"]
            return {"result": call(params["name"], params.get("arguments") or {})}
        case _ if "id" in message:
            return {"error": {"code": -32601, "message": "not known here"}}
    return None


def main() -> None:
    note("STARTS")
    if "silent" in sys.argv:
        time.sleep(1000)
    if "broken" in sys.argv:
        sys.exit("cannot start today")
    for line in sys.stdin:
        message = json.loads(line)
        if reply := answer(message):
            send({"id": message["id"], **reply})


if __name__ == "__main__":
    main()
