"""Runs, trees and sub-agents: read and stop them."""

from __future__ import annotations

import json
from collections.abc import Sequence

from openclaw_workers.cli.backend.opened import LocalPart
from openclaw_workers.cli.backend.protocol import Json
from openclaw_workers.domain.ids import RunId
from openclaw_workers.queries.run_answers import recent_runs, run_details, runs_answer, stop_answer
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
from openclaw_workers.views.runs import run_json


class LocalRuns(LocalPart):
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
