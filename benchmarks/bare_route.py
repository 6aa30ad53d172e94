"""The baseline of the ingress: a bare Starlette route that stores its body with one script on the same Redis."""

from __future__ import annotations

import os
import sys

import uvicorn
from redis.asyncio import Redis
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

redis = Redis.from_url(os.environ["REDIS_URL"], decode_responses=True)
store = redis.register_script("return { 'ok', redis.call('RPUSH', KEYS[1], ARGV[1]) }")


async def send(request: Request) -> JSONResponse:
    body = await request.json()
    answer = await store(keys=["bare"], args=[body["text"]])
    return JSONResponse({"accepted": True, "place": answer[1]}, status_code=202)


if __name__ == "__main__":
    app = Starlette(routes=[Route("/send", send, methods=["POST"])])
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_config=None, access_log=False, lifespan="off")
