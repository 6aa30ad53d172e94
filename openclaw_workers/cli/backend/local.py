"""The installation itself: its stores and the doors of the engine."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

from openclaw_workers.cli.backend.protocol import Json, OutgoingText
from openclaw_workers.config.model_names import find_model
from openclaw_workers.config.resolve import workspace_dir
from openclaw_workers.domain.encoding import replace_surrogates
from openclaw_workers.domain.ids import MessageId, RunId, SessionKey
from openclaw_workers.domain.messages import Authority, Route
from openclaw_workers.domain.session_key import agent_of
from openclaw_workers.engine.client_graph import pairing_of
from openclaw_workers.engine.intake.attachments import attach
from openclaw_workers.engine.routing.session_labels import check_label
from openclaw_workers.queries.agent_answers import agents_answer
from openclaw_workers.queries.installation import Installation
from openclaw_workers.queries.model_answers import keys_answer, resume_keys, resumed_answer
from openclaw_workers.queries.outbox_answers import outbox_answer
from openclaw_workers.queries.run_answers import recent_runs, run_details, runs_answer, stop_answer
from openclaw_workers.queries.session_answers import recent_sessions, session_details, sessions_answer
from openclaw_workers.queries.sessions import check_label_is_free, find_key, find_session
from openclaw_workers.queries.status_answers import status_fields, usage_answer, usage_totals
from openclaw_workers.queries.subagent_answers import (
    retry_answer,
    session_of,
    states_of,
    stop_subagent_tree,
    stopped_answer,
    subagent_answer,
    subagents_answer,
)
from openclaw_workers.queries.subagents import find_subagent
from openclaw_workers.queries.trees import TreeQuery, trees_answer
from openclaw_workers.views.outbox import entry_details_json, entry_json
from openclaw_workers.views.pairing import admission_json, pairing_json
from openclaw_workers.views.runs import run_json
from openclaw_workers.views.session_trees import build_session_trees, session_tree_json

if TYPE_CHECKING:
    from openclaw_workers.client.blocking import BlockingReader
    from openclaw_workers.domain.ledger import Dimension
    from openclaw_workers.domain.transcript import Attachment
    from openclaw_workers.engine.control import Control
    from openclaw_workers.engine.intake.accept import Answered, Intake, Queued, Rejected

CHANNEL = "cli"


class Opened(Installation, Protocol):
    """An installation with the doors of its engine; the context of the commands is such."""

    @property
    def intake(self) -> Intake: ...

    @property
    def control(self) -> Control: ...

    @property
    def conversations(self) -> BlockingReader: ...

    @property
    def main_key(self) -> str: ...

    def session_key(self, wanted: str = "", *, agent: str = "", thread: str = "") -> SessionKey: ...


class LocalBackend:
    """Implements `Backend` with the rights of the owner."""

    def __init__(self, cli: Opened) -> None:
        self._cli = cli

    @cached_property
    def conversations(self) -> BlockingReader:
        return self._cli.conversations

    def check(self) -> None:
        _ = self._cli.intake

    def session_key(self, wanted: str, agent: str, thread: str) -> SessionKey:
        return self._cli.session_key(wanted, agent=agent, thread=thread)

    def send(self, message: OutgoingText) -> Queued | Rejected | Answered:
        options = message.options
        # Bytes that are not UTF-8 can be neither stored nor looked up.
        message_id = MessageId(replace_surrogates(message.message_id))
        model = None
        if options.model is not None:  # an unknown name is refused before anything is stored, attachments included
            model = find_model(self._cli.loaded.settings, replace_surrogates(options.model))
        return self._cli.intake.accept(
            message.text,
            session=message.session,
            route=Route(channel=CHANNEL, thread_id=replace_surrogates(message.thread)),
            authority=Authority.OWNER,
            message_id=message_id,
            model=model,
            extra_system_prompt=options.system,
            thinking=options.thinking,
            context_tokens=options.context_tokens,
            timeout_seconds=options.timeout_seconds,
            mode=message.mode,
            attachments=self._attached(message, message_id) if message.files else (),
        )

    def _attached(self, message: OutgoingText, message_id: MessageId) -> list[Attachment]:
        cli = self._cli
        own = self.row(message.session).get("spawnedWorkspaceDir")  # a sub-agent may have its own directory
        agents = workspace_dir(cli.loaded.settings, agent_of(message.session), cli.loaded.state_dir)
        return attach(message.files, Path(own) if own else agents, message_id)

    def row(self, session: SessionKey) -> Json:
        return dict(self._cli.stores.reader.row(session))

    def stop_turn(self, session: SessionKey) -> None:
        self._cli.control.stop_turn(session)

    def existing_key(self, key: str) -> SessionKey:
        return find_key(self._cli, key)

    def status(self) -> Json:
        return {"ok": True, **status_fields(self._cli, self._cli.trees.undelivered())}

    def damaged(self) -> Json:
        return {"ok": True, "damaged": self._cli.stores.reader.quarantined()}

    def sessions(self, limit: int, agent: str | None) -> Json:
        return sessions_answer(self._cli, recent_sessions(self._cli, limit, agent))

    def session_trees(self, key: str | None) -> Json:
        reader = self._cli.stores.reader
        wanted = find_session(self._cli, key)[0] if key is not None else None
        roots = build_session_trees(reader.each_session(500), wanted)
        found = [session_tree_json(root, reader.control, self._cli.main_key) for root in roots]
        return {"ok": True, "sessions": found, "unreadable": reader.unreadable}

    def session(self, key: str) -> Json:
        return {"ok": True, **session_details(self._cli, key).as_json(self._cli.main_key)}

    def history(self, key: str, limit: int | None) -> tuple[list[Json], int]:
        session, _ = find_session(self._cli, key)
        raws, unreadable = self._cli.stores.reader.raw_transcript(session, -limit if limit else 0)
        return [json.loads(raw) for raw in raws], unreadable

    def label_session(self, key: str, label: str | None) -> Json:
        session, _ = find_session(self._cli, key)
        wanted = check_label(label) if label is not None else ""
        check_label_is_free(self._cli, session, wanted)
        self._cli.stores.sessions.patch(session, {"label": wanted})
        return {"ok": True, "sessionKey": session, "label": wanted or None}

    def reset_session(self, key: str) -> Json:
        session, reader = find_key(self._cli, key), self._cli.stores.reader
        old = reader.session(session)
        self._cli.control.reset(session)
        new = reader.session(session)
        return {
            "ok": True,
            "sessionKey": session,
            "sessionId": new and new.session_id,
            "previousSessionId": old and old.session_id,
        }

    def delete_session(self, key: str) -> Json:
        session = find_key(self._cli, key)
        self._cli.control.delete(session)
        return {"ok": True, "sessionKey": session}

    def runs(self, limit: int, session: str | None, state: str | None) -> Json:
        return runs_answer(self._cli, recent_runs(self._cli, limit, session=session, state=state))

    def run(self, run: str) -> Json:
        return {"ok": True, **run_details(self._cli, run).as_json()}

    def some_runs(self, runs: Sequence[str]) -> list[Json]:
        return [run_json(each) for each in self._cli.stores.reader.some_runs([RunId(run) for run in runs])]

    def trees(self, of: str | None, limit: int) -> Json:
        return trees_answer(self._cli, TreeQuery(self._cli, of, limit).read())

    def stop_run(self, run: str) -> Json:
        return stop_answer(self._cli, self._cli.control, run)

    def subagents(self, key: str | None, limit: int, *, live: bool) -> Json:
        return subagents_answer(self._cli, key, limit, live=live)

    def subagent(self, subagent: str) -> Json:
        return subagent_answer(self._cli, find_subagent(self._cli, subagent))

    def log(self, subagent: str, limit: int | None) -> list[Json]:
        session = session_of(self._cli, find_subagent(self._cli, subagent))
        raws, _ = self._cli.stores.reader.raw_transcript(session, -limit if limit else 0)
        return [json.loads(raw) for raw in raws]

    def stop_subagent(self, subagent: str) -> Json:
        run = find_subagent(self._cli, subagent)
        ids = stop_subagent_tree(self._cli, self._cli.control, run)
        return stopped_answer(run, states_of(self._cli, ids))

    def retry_delivery(self, subagent: str) -> Json:
        return retry_answer(self._cli, subagent)

    def usage(self, by: str, days: int) -> Json:
        return usage_answer(by, days, *usage_totals(self._cli, cast("Dimension", by), days))

    def keys(self) -> Json:
        return keys_answer(self._cli)

    def resume_keys(self, wanted: str) -> Json:
        return resumed_answer(*resume_keys(self._cli, wanted))

    def agents(self) -> Json:
        return agents_answer(self._cli.loaded)

    def outbox(self, limit: int, state: str | None, *, with_sent: bool) -> Json:
        return outbox_answer(self._cli, limit, state=state, with_sent=with_sent)

    def outgoing(self, message: str) -> Json:
        return {"ok": True, **entry_details_json(*self._cli.stores.outbox.get(message))}

    def retry_outgoing(self, message: str) -> Json:
        self._cli.stores.outbox.retry(message)
        return self._settled(message)

    def drop_outgoing(self, message: str) -> Json:
        self._cli.stores.outbox.drop(message)
        return self._settled(message)

    def _settled(self, message: str) -> Json:
        return {"ok": True, **entry_json(self._cli.stores.outbox.get(message)[0])}

    def pairings(self) -> Json:
        service = pairing_of(self._cli.stores)
        return {"ok": True, **pairing_json(service.admissions(), service.requests(), service.refusals())}

    def approve(self, who: str, *, share_session: bool) -> Json:
        admitted = pairing_of(self._cli.stores).approve(who, share_session=share_session)
        return {"ok": True, **admission_json(admitted)}

    def revoke(self, who: str) -> Json:
        return {"ok": True, "subject": pairing_of(self._cli.stores).revoke(who)}
