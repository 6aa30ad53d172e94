"""The ingress as a child of `ocw up`, and the token with which its owner logs in."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import redis

from openclaw_workers.cli.local.child_spec import ChildSpec, Starter
from openclaw_workers.cli.local.saved_endpoint import any_free_port, is_free
from openclaw_workers.cli.local.start_program import start_program
from openclaw_workers.domain.tokens import Scope
from openclaw_workers.errors import StoreUnavailable
from openclaw_workers.state_dir import TOKEN_FILE, write_private
from openclaw_workers.store.client import connect
from openclaw_workers.store.ingresses import Ingresses
from openclaw_workers.store.keys import Keys
from openclaw_workers.store.tokens import Tokens

NAME = "ingress"
PORT_FILE = "ingress.port"
OCW = (sys.executable, "-P", "-m", "openclaw_workers.cli")
MODULES = ("ingress.process", "openclaw_workers.cli.commands.ingress")
STOP_SECONDS = 10.0


def ingress_spec(
    port: int, env: Mapping[str, str], is_ready: Callable[[int], bool], start: Starter = start_program
) -> ChildSpec:
    return ChildSpec(
        name=NAME,
        argv=(*OCW, "ingress", "--port", str(port)),
        env=env,
        is_ready=is_ready,
        stop_seconds=STOP_SECONDS,
        start_attempts=1,
        modules=MODULES,
        start=start,
    )


def choose_port(state_dir: Path, wanted: int, *, is_fixed: bool) -> int:
    """The port to serve on. One that nobody configured gives way if it is in use, and stays the same after that."""
    if is_fixed or wanted == 0:
        return wanted
    path = state_dir / PORT_FILE
    try:
        kept = int(path.read_text(encoding="ascii"))
    except (OSError, ValueError):
        kept = wanted
    # The stored one first, so that bookmarks and open pages keep working.
    port = next((each for each in (kept, wanted) if is_free(each)), None) or any_free_port()
    write_private(path, f"{port}\n")
    return port


def serving_probe(redis_url: str, keys: Keys) -> Callable[[int], bool]:
    """A check whether the ingress with a given pid has registered."""
    store = Ingresses(connect(redis_url, timeout_seconds=1.0), keys)

    def is_registered(pid: int) -> bool:
        try:
            return any(info.alive and info.facts.get("pid") == str(pid) for info in store.all())
        except (StoreUnavailable, redis.RedisError, OSError):
            return False

    return is_registered


def url_of_pid(redis_url: str, keys: Keys, pid: int) -> str | None:
    client = connect(redis_url)
    try:
        return next((info.url for info in Ingresses(client, keys).all() if info.facts.get("pid") == str(pid)), None)
    finally:
        client.close()


def admin_token(state_dir: Path, tokens: Tokens) -> str:
    """The id of the owner's token. Its secret is in a file that only the owner can read.

    A new one is made if there is none, or if the one in the file was revoked or belongs to another Redis.

    Raises:
        StoreUnavailable: Redis does not answer.
    """
    path = state_dir / TOKEN_FILE
    try:
        known = tokens.find(path.read_text(encoding="utf-8").strip())
    except (OSError, UnicodeDecodeError):
        known = None
    if known is not None:
        return known.id
    token, secret = tokens.create(Scope.ADMIN, name="made by ocw up")
    write_private(path, f"{secret}\n")
    return token.id
