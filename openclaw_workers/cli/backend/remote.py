"""An installation through its HTTP API."""

from __future__ import annotations

from collections.abc import Sequence

from openclaw_workers.cli.backend.protocol import Json, OutgoingText
from openclaw_workers.cli.backend.remote_agents import RemoteAgents
from openclaw_workers.cli.backend.remote_channels import RemoteChannels
from openclaw_workers.cli.backend.remote_config import RemoteConfig
from openclaw_workers.cli.backend.remote_workers import RemoteWorkers
from openclaw_workers.client.sent_files import upload_json
from openclaw_workers.domain.accepted import Answered, Queued, Rejected
from openclaw_workers.domain.ids import MessageId, RunId, SessionKey
from openclaw_workers.errors import BadInput, NotFound
from openclaw_workers.remote.address import ApiAddress, MessageRejected, path_of
from openclaw_workers.remote.blocking_reader import BlockingHttpReader

MOST_LISTED = 1000


class RemoteBackend(RemoteChannels, RemoteAgents, RemoteWorkers, RemoteConfig):
    """Implements `Backend` with the rights of a token."""

    def __init__(self, address: ApiAddress) -> None:
        super().__init__(address)
        self.conversations = BlockingHttpReader(self._transport)

    def close(self) -> None:
        self.conversations.close()
        self._transport.close()

    def connects(self) -> bool:
        """Whether somebody listens at the address."""
        return self._transport.connects()

    def check(self) -> None:
        """Finding the session has asked the server already."""

    def session_key(self, wanted: str, agent: str, thread: str) -> SessionKey:
        query = {"sessionKey": wanted or None, "agentId": agent or None, "threadId": thread or None}
        return SessionKey(self._get("/address", **query)["sessionKey"])

    def send(self, message: OutgoingText) -> Queued | Rejected | Answered:
        options = message.options
        body = {
            "text": message.text,
            "sessionKey": message.session,
            "threadId": message.thread or None,
            "model": options.model,
            "system": options.system,
            "thinking": options.thinking,
            "contextTokens": options.context_tokens,
            "runTimeoutSeconds": options.timeout_seconds,
            "mode": message.mode,
            "idempotencyKey": message.message_id,
            "attachments": upload_json(message.files) or None,
        }
        try:
            answer = self._post("/send", **body)
        # A rejection is an answer and not an error, as in the local backend.
        except MessageRejected as error:
            return Rejected(message.message_id, error.reason)
        if "eventId" not in answer:
            return Answered(answer["text"])
        run = RunId(answer["runId"]) if answer["runId"] else None
        return Queued(MessageId(answer["messageId"]), SessionKey(answer["sessionKey"]), run, answer["eventId"], None)

    def row(self, session: SessionKey) -> Json:
        try:
            row: Json = self.session(session)["row"]
        except NotFound:
            return {}
        return row

    def commands(self, agent: str) -> Json:
        return self._get("/commands")

    def stop_turn(self, session: SessionKey) -> None:
        run = self._get(path_of("sessions", session, "progress"))["runId"]
        if run is not None:
            self.stop_run(run)

    def existing_key(self, key: str) -> SessionKey:
        if not key.strip():
            raise BadInput("the KEY of a session is empty", hint="`ocw sessions list` shows the sessions")
        return SessionKey(self._get("/sessions/resolve", key=key)["sessionKey"])

    def status(self) -> Json:
        return self._get("/status")

    def damaged(self) -> Json:
        return self._get("/damaged")

    def sessions(self, limit: int, agent: str | None) -> Json:
        return self._get("/sessions", limit=min(limit, MOST_LISTED), agentId=agent)

    def session_trees(self, key: str | None) -> Json:
        return self._get("/session-trees", key=None if key is None else self.existing_key(key))

    def session(self, key: str) -> Json:
        if not key.strip():
            self.existing_key(key)
        return self._get(path_of("sessions", key))

    def history(self, key: str, limit: int | None) -> tuple[list[Json], int]:
        return self._pages(path_of("sessions", self.existing_key(key), "history"), limit), 0

    def label_session(self, key: str, label: str | None) -> Json:
        session = self.existing_key(key)
        answer = self._request("PATCH", path_of("sessions", session), body={"label": label})
        return {"ok": True, "sessionKey": session, "label": answer["row"].get("label")}

    def reset_session(self, key: str) -> Json:
        return self._post(path_of("sessions", self.existing_key(key), "reset"))

    def delete_session(self, key: str) -> Json:
        return self._request("DELETE", path_of("sessions", self.existing_key(key)))

    def runs(self, limit: int, session: str | None, state: str | None) -> Json:
        return self._get("/runs", limit=min(limit, MOST_LISTED), sessionKey=session, state=state)

    def run(self, run: str) -> Json:
        return self._get(path_of("runs", run))

    def some_runs(self, runs: Sequence[str]) -> list[Json]:
        found = []
        for run in runs:
            try:
                found.append(self.run(run))
            except NotFound:
                continue
        return found

    def trees(self, of: str | None, limit: int) -> Json:
        if of is None:
            return self._get("/trees/active")
        return self._get(path_of("tree", of), limit=min(limit, MOST_LISTED))

    def stop_run(self, run: str) -> Json:
        return self._post(path_of("runs", run, "stop"))

    def subagents(self, key: str | None, limit: int, *, live: bool) -> Json:
        return self._get("/subagents", limit=min(limit, MOST_LISTED), sessionKey=key, live=live)

    def subagent(self, subagent: str) -> Json:
        return self._get(path_of("subagents", subagent))

    def log(self, subagent: str, limit: int | None) -> list[Json]:
        return self._pages(path_of("subagents", subagent, "log"), limit)

    def stop_subagent(self, subagent: str) -> Json:
        return self._post(path_of("subagents", subagent, "stop"))

    def retry_delivery(self, subagent: str) -> Json:
        return self._post(path_of("subagents", subagent, "retry"))

    def usage(self, by: str, days: int) -> Json:
        return self._get("/usage", by=by, days=days)

    def keys(self) -> Json:
        return self._get("/models/keys")

    def models(self) -> Json:
        return self._get("/models")

    def resume_keys(self, wanted: str) -> Json:
        return self._post("/models/resume", key=wanted)

    def agents(self) -> Json:
        return self._get("/agents")

    def plugins(self) -> Json:
        return self._get("/plugins")

    def plugin_check(self) -> Json:
        return self._get("/plugins/check")

    def mcp_status(self) -> Json:
        return self._get("/mcp")

    def outbox(self, limit: int, state: str | None, *, with_sent: bool) -> Json:
        return self._get("/outbox", limit=min(limit, MOST_LISTED), state=state, all=with_sent)

    def outgoing(self, message: str) -> Json:
        return self._get(path_of("outbox", message))

    def retry_outgoing(self, message: str) -> Json:
        return self._post(path_of("outbox", message, "retry"))

    def drop_outgoing(self, message: str) -> Json:
        return self._post(path_of("outbox", message, "drop"))

    def questions(self) -> Json:
        return self._get("/questions")

    def decide(self, question: str, how: str) -> Json:
        return self._post("/questions/decide", id=question, how=how)

    def answer(self, question: str, text: str) -> Json:
        return self._post("/questions/answer", id=question, text=text)

    def revoke_approval(self, agent: str, what: str) -> Json:
        return self._post("/questions/revoke", agentId=agent, what=what)

    def pairings(self) -> Json:
        return self._get("/pairing")

    def approve(self, who: str, *, share_session: bool) -> Json:
        return self._post("/pairing/approve", who=who, shareSession=share_session)

    def revoke(self, who: str) -> Json:
        return self._post("/pairing/revoke", who=who)
