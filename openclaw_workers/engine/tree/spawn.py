"""`sessions_spawn`: the checks in order, then one script that counts and registers (rule 3)."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import structlog

from openclaw_workers.agent.prompt import texts
from openclaw_workers.config.resolve import AgentConfig
from openclaw_workers.config.settings import Settings
from openclaw_workers.domain.ids import BatchId, RunId, SessionKey
from openclaw_workers.domain.session_key import agent_of
from openclaw_workers.domain.tree import AnnounceMode, SpawnMode, batch_id, child_run_id
from openclaw_workers.engine.agent_configs import AgentConfigs
from openclaw_workers.engine.tree.child import Parent, build_child
from openclaw_workers.engine.tree.lineage import depth_of, root_of
from openclaw_workers.engine.tree.spawn_checks import Refusal, check
from openclaw_workers.engine.tree.subagent_hooks import fire
from openclaw_workers.engine.wake import Waker
from openclaw_workers.errors import StoreFull, ToolError
from openclaw_workers.store.reader import Reader
from openclaw_workers.store.tree import NewChild, Spawned, Tree
from openclaw_workers.store.turn_records import Taken
from openclaw_workers.store.uploads import Uploads
from openclaw_workers.tools.sessions.port import SpawnCall

log = structlog.get_logger(__name__)


class Spawner:
    """Spawns on behalf of running turns."""

    def __init__(
        self,
        *,
        tree: Tree,
        reader: Reader,
        waker: Waker,
        uploads: Uploads,
        agents: AgentConfigs,
        settings: Settings,
        state_dir: Path,
        workspace_of: Callable[[Taken], Path],
    ) -> None:
        """`workspace_of`: where a turn works."""
        self._tree = tree
        self._uploads = uploads
        self._workspace_of = workspace_of
        self._reader = reader
        self._waker = waker
        self._agents = agents
        self._settings = settings
        self._state_dir = state_dir

    def parent(self, taken: Taken) -> Parent:
        session = taken.lease.session
        return Parent(
            taken=taken,
            agent=self._agents.resolve(agent_of(session)),
            depth=depth_of(session, taken.row, self._reader),
            root=root_of(session, taken.row),
            workspace=self._workspace_of(taken),
        )

    def spawn(self, parent: Parent, calls: Sequence[SpawnCall]) -> list[str]:
        """Spawn what passes the checks; one JSON answer per call."""
        checked = self._checked(parent, calls)
        children = [each for each in checked if isinstance(each, NewChild)]
        verdicts = (
            self._tree.spawn(
                parent.taken.lease,
                parent.root,
                children,
                most_children=parent.agent.subagents.max_children_per_agent,
                most_tree=parent.limits.runs,
            )
            if children
            else []
        )
        verdict_of = {child.run: verdict for child, verdict in zip(children, verdicts, strict=True)}
        refused = [child for child in children if verdict_of[child.run].verdict != "accepted"]
        # Nobody will read the files of a refused child.
        self._uploads.discard([upload for child in refused for upload in child.uploads])
        self._publish([(child, verdict_of[child.run]) for child in children])
        return [
            json.dumps(
                each.as_answer() if isinstance(each, Refusal) else _answer(call, each, verdict_of[each.run], parent),
                ensure_ascii=False,
            )
            for call, each in zip(calls, checked, strict=True)
        ]

    def _checked(self, parent: Parent, calls: Sequence[SpawnCall]) -> list[NewChild | Refusal]:
        # Only for a clear refusal. The script counts again, and that count holds.
        active, _ = self._tree.counts(parent.session, parent.root)
        registered = self._registered(parent, calls)
        found: list[NewChild | Refusal] = []
        for call in calls:
            # A child that is registered already takes no further place.
            others = 0 if call.call_id in registered else active
            agent = check(parent, call.args, others, self._settings, self._agents.resolve)
            if isinstance(agent, AgentConfig):
                is_known = call.call_id in registered
                found.append(self._build(parent, call, agent, self._batch(parent, call, calls), is_known=is_known))
            else:
                found.append(agent)
        return found

    def _registered(self, parent: Parent, calls: Sequence[SpawnCall]) -> set[str]:
        """Calls whose children an earlier owner registered before it died. They must not count against themselves (rule
        13)."""
        if not parent.taken.resumed:
            return set()
        ids = {child_run_id(parent.session_id, parent.taken.lease.run, call.call_id): call.call_id for call in calls}
        return {ids[run.id] for run in self._reader.some_runs(list(ids))}

    def _build(
        self, parent: Parent, call: SpawnCall, agent: AgentConfig, batch: BatchId, *, is_known: bool
    ) -> NewChild | Refusal:
        try:
            return build_child(
                parent,
                call,
                agent,
                batch,
                settings=self._settings,
                state_dir=self._state_dir,
                reader=self._reader,
                store=None if is_known else self._uploads.store,
            )
        except ToolError as error:
            return Refusal("error", error.message)
        except StoreFull as error:
            return Refusal("forbidden", f"{error.message}, and no files for sub-agents; do it yourself")

    def _batch(self, parent: Parent, call: SpawnCall, calls: Sequence[SpawnCall]) -> BatchId:
        """Children announced together share a batch, named after the first of them; the others have one each."""
        together = [each for each in calls if each.args.announce is AnnounceMode.BATCH]
        first = together[0] if call.args.announce is AnnounceMode.BATCH else call
        return batch_id(parent.session_id, parent.taken.lease.run, first.call_id)

    def _publish(self, results: Sequence[tuple[NewChild, Spawned]]) -> None:
        chords: dict[BatchId, dict[int, tuple[SessionKey, RunId]]] = {}
        for child, verdict in results:
            if verdict.verdict == "accepted":
                chords.setdefault(child.batch, {})[verdict.number] = (child.session, child.run)
        for batch, headers in chords.items():
            # By number in the batch: a repeat must publish each header at the same index.
            self._waker.chord(batch, [headers[place] for place in sorted(headers)])
        accepted = [child.run for child, verdict in results if verdict.verdict == "accepted"]
        for record in self._reader.some_runs(accepted):
            log.info("subagent.spawned", child=record.id, childSessionKey=record.session_key, label=record.label)
            fire("subagent_spawned", record)


def _note(call: SpawnCall, child: NewChild) -> str:
    note = texts.SPAWNED_FOR_THREAD if child.record["spawn_mode"] == SpawnMode.SESSION else texts.SPAWNED
    not_forked = call.args.context == "fork" and child.row["forkedFromParent"] == "false"
    return f"{texts.SPAWNED_WITHOUT_FORK} {note}" if not_forked else note


def _answer(call: SpawnCall, child: NewChild, verdict: Spawned, parent: Parent) -> dict[str, Any]:
    match verdict.verdict:
        case "accepted":
            return {
                "status": "accepted",
                "accepted": True,
                "childSessionKey": child.session,
                "sessionKey": child.session,
                "childSessionId": child.session_id,
                "subSessionId": child.session_id,
                "runId": child.run,
                "subRunId": child.run,
                "lane": "subagent",
                "mode": child.record["spawn_mode"],
                "depth": int(child.record["depth"]),
                "role": child.record["role"],
                "note": _note(call, child),
                **({"threadId": child.row["lastThreadId"]} if child.thread else {}),
            }
        case "children":
            return Refusal(
                "forbidden",
                f"you have {verdict.number} sub-agents at work and may have "
                f"{parent.agent.subagents.max_children_per_agent}; wait for their results",
            ).as_answer()
        case "tree":
            return Refusal(
                "forbidden",
                f"this tree has {verdict.number} sub-agents at work and may have {parent.limits.runs}; "
                "do it yourself, or wait",
            ).as_answer()
        case "memory":
            full = f"Redis uses {verdict.number} % of its memory, and no sub-agents are started"
            return Refusal("forbidden", f"{full}; do it yourself").as_answer()
        case _:
            return Refusal("forbidden", "this run is being stopped").as_answer()
