"""Everything in a Redis as one comparable value, in which two readings of the clock look the same."""

from __future__ import annotations

import json
import re
from typing import Any

import redis

# Epoch milliseconds of this century; stream ids begin with one too.
_TIME = re.compile(r"\b1[6-9]\d{11}(?:-\d+)?\b")

Snapshot = dict[str, Any]


def snapshot(client: redis.Redis) -> Snapshot:
    return {str(key): _timeless(_value(client, str(key))) for key in sorted(client.keys("*"))}


def _value(client: redis.Redis, key: str) -> Any:
    match str(client.type(key)):
        case "hash":
            return client.hgetall(key)
        case "zset":
            return client.zrange(key, 0, -1, withscores=True)
        case "list":
            return client.lrange(key, 0, -1)
        case "stream":
            return client.xrange(key)
        case "string":
            return client.get(key)
        case "set":
            return sorted(client.smembers(key))
        case other:
            raise AssertionError(f"{key} is a {other}")


def _ordered(value: str) -> str:
    """The fields of a JSON object stand in no order: a script that writes it again may write another."""
    return json.dumps(json.loads(value), sort_keys=True) if value.startswith("{") else value


def _timeless(value: Any) -> Any:
    match value:
        case str():
            return _TIME.sub("<time>", _ordered(value))
        case float():
            return _TIME.sub("<time>", str(int(value)))
        case dict():
            return {name: _timeless(each) for name, each in value.items()}
        case list() | tuple():
            return [_timeless(each) for each in value]
        case _:
            return value
