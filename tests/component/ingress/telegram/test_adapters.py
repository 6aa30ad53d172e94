"""Which bots an ingress process serves."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import yaml

from ingress.adapters import build_adapters
from ingress.graph import open_context
from openclaw_workers.config.loader import load
from tests.support.redis_server import RedisServer

FIRST, SECOND = "4242:first-token", "5151:second-token"


def served(directory: Path, server: RedisServer, telegram: dict[str, Any]) -> list[str]:
    config = directory / "openclaw.yaml"
    config.write_text(yaml.safe_dump({"channels": {"telegram": telegram}}))
    loaded = load(config, env={}, state_dir=directory)

    async def names() -> list[str]:
        return [adapter.account_id for adapter in build_adapters(open_context(loaded, server.url))]

    return asyncio.run(names())


def test_only_bots_that_are_on_and_have_a_token_start(tmp_path: Path, redis_server: RedisServer) -> None:
    accounts = {"work": {"botToken": SECOND}, "off": {"botToken": "6161:third-token", "enabled": False}, "empty": {}}
    assert served(tmp_path, redis_server, {"botToken": FIRST, "accounts": accounts}) == ["default", "work"]
    assert served(tmp_path, redis_server, {"botToken": FIRST, "enabled": False, "accounts": accounts}) == []
    assert served(tmp_path, redis_server, {"accounts": accounts}) == ["work"]


def test_without_a_bot_no_channel_library_is_loaded(tmp_path: Path, redis_server: RedisServer) -> None:
    assert served(tmp_path, redis_server, {}) == []
