"""An installation through its HTTP API."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from openclaw_workers.client.sent_files import upload_json
from openclaw_workers.domain.accepted import Queued
from openclaw_workers.domain.ids import MessageId, RunId, SessionKey, new_message_id
from openclaw_workers.remote.address import ApiAddress, MessageRejected, path_of
from openclaw_workers.remote.reader import HttpReader
from openclaw_workers.remote.transport import AsyncTransport
from openclaw_workers.sdk.backend import Json, NewMessage
from openclaw_workers.views.answers import Answer, answer_json
from openclaw_workers.views.errors import problem_json

PAGE = 1000


class HttpBackend:
    def __init__(self, address: ApiAddress, *, timeout: float) -> None:
        self._transport = AsyncTransport(address, timeout=timeout)

    async def close(self) -> None:
        await self._transport.close()

    def reader(self) -> HttpReader:
        return HttpReader(self._transport)

    async def accept(self, message: NewMessage) -> Queued | Json:
        body = {
            "text": message.text,
            "session": message.session or None,
            "agentId": message.agent or None,
            "model": message.model,
            "thinking": message.thinking,
            "system": message.system,
            "mode": message.mode,
            "idempotencyKey": message.key or new_message_id(),
            "attachments": await asyncio.to_thread(_attachments, message) if message.files else None,
        }
        given = {name: value for name, value in body.items() if value is not None}
        try:
            return _accepted(await self._transport.request("POST", "/send", body=given))
        except MessageRejected as error:
            problem = problem_json("Rejected", error.message, error.hint)
            return answer_json(Answer(SessionKey(message.session), "rejected", error=problem))

    async def sessions(self, *, limit: int, agent: str | None, label: str | None) -> Json:
        return await self._get("/sessions", limit=limit, agentId=agent, label=label)

    async def session(self, key: str) -> Json:
        return await self._get(path_of("sessions", key))

    async def history(self, key: str, limit: int | None) -> list[Json]:
        """The newest entries, read from the end in pages."""
        found: list[Json] = []
        before: int | None = None
        while before != 0 and (limit is None or len(found) < limit):
            page = PAGE if limit is None else min(PAGE, limit - len(found))
            answer = await self._get(path_of("sessions", key, "history"), limit=page, before=before)
            found = [*answer["entries"], *found]
            before = answer["first"]
        return found

    async def runs(self, *, limit: int, session: str | None, state: str | None) -> Json:
        return await self._get("/runs", limit=limit, sessionKey=session, state=state)

    async def run(self, run: str) -> Json:
        return await self._get(path_of("runs", run))

    async def tree(self, of: str | None, limit: int) -> Json:
        return await self._get("/trees" if of is None else path_of("tree", of), limit=limit)

    async def stop(self, run: str) -> Json:
        answer: Json = await self._transport.request("POST", path_of("runs", run, "stop"), body={})
        return answer

    async def steer(self, run: str, text: str) -> Json:
        body = {"text": text, "idempotencyKey": new_message_id()}
        answer: Json = await self._transport.request("POST", path_of("runs", run, "steer"), body=body)
        return answer

    async def _get(self, path: str, **query: Any) -> Json:
        answer: Json = await self._transport.request("GET", path, query=query)
        return answer


def _accepted(answer: Json) -> Queued | Json:
    if "eventId" not in answer:
        return answer
    return Queued(
        MessageId(answer["messageId"]),
        SessionKey(answer["sessionKey"]),
        RunId(answer["runId"]) if answer["runId"] else None,
        answer["eventId"],
        None,
    )


def _attachments(message: NewMessage) -> list[Json]:
    return upload_json([Path(file) for file in message.files])
