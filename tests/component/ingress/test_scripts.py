"""Scripts that are run from the event loop, on a real Redis."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import pytest
import redis

from ingress.events.connect import script_connection
from ingress.scripts import ScriptPipeline, Scripts
from openclaw_workers.errors import CorruptRecord, StoreUnavailable
from openclaw_workers.store.client import ScriptCall, script_call
from tests.support.redis_server import RedisServer

T = TypeVar("T")


def push(key: str, value: str) -> ScriptCall:
    """A script of ours that appends to a list and returns its length."""
    return script_call("write", more_keys=[key], more_args=[2, "RPUSH", value])


def in_loop(url: str, act: Callable[[ScriptPipeline], Awaitable[T]], *, timeout_seconds: float = 5.0) -> T:
    async def run() -> T:
        async with pipeline(url, timeout_seconds) as scripts:
            return await act(scripts)

    return asyncio.run(run())


@asynccontextmanager
async def pipeline(url: str, timeout_seconds: float) -> AsyncIterator[ScriptPipeline]:
    scripts = ScriptPipeline(script_connection(url, timeout_seconds=timeout_seconds), timeout_seconds=timeout_seconds)
    yield scripts
    scripts.close()
    await asyncio.sleep(0)  # until the loop has closed it


def test_each_caller_gets_the_answer_to_its_own_script(redis_client: redis.Redis, redis_server: RedisServer) -> None:
    async def act(scripts: ScriptPipeline) -> list[Any]:
        return list(await asyncio.gather(*(scripts.run(push(f"list-{each}", str(each))) for each in range(200))))

    redis_client.script_flush()
    answers = in_loop(redis_server.url, act)

    assert answers == [[1]] * 200
    assert [redis_client.lrange(f"list-{number}", 0, -1) for number in range(200)] == [[str(n)] for n in range(200)]


def test_calls_that_come_while_answers_are_read_are_answered_too(redis_server: RedisServer) -> None:
    """Each caller asks again as soon as it is answered, so that some calls come just after the last answer."""

    async def act(scripts: ScriptPipeline) -> list[int]:
        async def one(number: int) -> int:
            for _ in range(100):
                await scripts.run(push("busy", "x"))
            return number

        return await asyncio.gather(*(one(number) for number in range(7)))

    assert in_loop(redis_server.url, act) == list(range(7))


def test_a_script_that_fails_fails_its_own_caller_only(redis_client: redis.Redis, redis_server: RedisServer) -> None:
    redis_client.set("row", "no hash")
    keys = {"row": "row", "dedupe": "d", "label_prefix": "l"}
    wrong = script_call("patch_row", keys=keys, args={"session": "s", "changes": '{"a": "b"}', "keep_s": 0})

    async def act(scripts: ScriptPipeline) -> list[Any]:
        calls = [scripts.run(push("list", "a")), scripts.run(wrong), scripts.run(push("list", "b"))]
        return list(await asyncio.gather(*calls, return_exceptions=True))

    first, second, third = in_loop(redis_server.url, act)
    assert (first, third) == ([1], [2])
    assert isinstance(second, CorruptRecord)


def test_a_redis_that_does_not_answer_in_time_is_unavailable_and_then_asked_again() -> None:
    with RedisServer() as server:

        async def act(scripts: ScriptPipeline) -> list[Any]:
            await scripts.run(push("list", "a"))
            server.stop()
            began = asyncio.get_running_loop().time()
            lost = await asyncio.gather(*(scripts.run(push("list", "b")) for _ in range(3)), return_exceptions=True)
            assert asyncio.get_running_loop().time() - began < 3
            server.cont()
            return [*lost, await scripts.run(push("other", "c"))]

        *lost, answer = in_loop(server.url, act, timeout_seconds=0.5)
    assert all(isinstance(each, StoreUnavailable) for each in lost)
    assert answer == [1]


def test_only_those_whose_time_is_over_are_given_up() -> None:
    with RedisServer() as server:

        async def act(scripts: ScriptPipeline) -> tuple[Any, Any]:
            await scripts.run(push("list", "a"))
            server.stop()
            first = asyncio.create_task(scripts.run(push("first", "b")))
            await asyncio.sleep(2)
            second = asyncio.create_task(scripts.run(push("second", "c")))
            given_up = await asyncio.gather(first, return_exceptions=True)
            server.cont()
            return given_up[0], await second

        lost, answer = in_loop(server.url, act, timeout_seconds=4)
    assert isinstance(lost, StoreUnavailable)
    assert answer == [1]


def test_a_connection_that_redis_closed_meanwhile_is_replaced(
    redis_client: redis.Redis, redis_server: RedisServer
) -> None:
    async def act(scripts: ScriptPipeline) -> list[Any]:
        await scripts.run(push("idle", "a"))
        (mine,) = [each for each in redis_client.client_list() if each["name"] == "openclaw-ingress-scripts"]
        redis_client.client_kill_filter(_id=mine["id"])
        await asyncio.sleep(0.1)  # the end of the connection arrives
        return await scripts.run(push("idle", "b"))

    assert in_loop(redis_server.url, act) == [2]


def test_what_cannot_be_sent_fails_its_own_caller_only(redis_server: RedisServer) -> None:
    async def act(scripts: ScriptPipeline) -> list[Any]:
        calls = [scripts.run(push("sent", "a")), scripts.run(push("sent", "\ud800")), scripts.run(push("sent", "b"))]
        return list(await asyncio.gather(*calls, return_exceptions=True))

    first, second, third = in_loop(redis_server.url, act)
    assert (first, third) == ([1], [2])
    assert isinstance(second, UnicodeEncodeError)


def test_a_redis_that_was_restarted_is_found_again() -> None:
    with RedisServer() as server:

        async def act(scripts: ScriptPipeline) -> list[Any]:
            await scripts.run(push("list", "a"))
            server.kill()
            with pytest.raises(StoreUnavailable):
                await scripts.run(push("list", "b"))
            server.start()
            return await scripts.run(push("list", "c"))

        assert in_loop(server.url, act) == [1]


def test_a_caller_that_gives_up_takes_nobodys_answer(redis_server: RedisServer) -> None:
    async def act(scripts: ScriptPipeline) -> list[Any]:
        task = asyncio.create_task(scripts.run(push("given-up", "a")))
        others = [asyncio.create_task(scripts.run(push("kept", str(number)))) for number in range(3)]
        await asyncio.sleep(0)
        task.cancel()
        return list(await asyncio.gather(*others))

    assert in_loop(redis_server.url, act) == [[1], [2], [3]]


def test_scripts_are_spread_over_connections(redis_client: redis.Redis, redis_server: RedisServer) -> None:
    async def run() -> int:
        connect = script_connection(redis_server.url, timeout_seconds=5)
        scripts = Scripts(connect, connections=4, timeout_seconds=5)
        before = connections()
        await asyncio.gather(*(scripts.run(push("spread", "x")) for _ in range(40)))
        found = connections() - before
        scripts.close()
        return found

    def connections() -> int:
        return sum(each["name"] == "openclaw-ingress-scripts" for each in redis_client.client_list())

    assert asyncio.run(run()) == 4
