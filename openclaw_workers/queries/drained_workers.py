"""Which workers a person drains or undrains, by the name of a host or the id of a worker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from openclaw_workers.domain.runs import WORKER_LANES
from openclaw_workers.domain.suggest import did_you_mean
from openclaw_workers.domain.worker_info import WorkerInfo
from openclaw_workers.errors import NotFound
from openclaw_workers.store.workers import Workers


@dataclass(frozen=True, slots=True)
class Named:
    name: str
    """The host, or the whole id of the worker."""
    is_host: bool
    workers: Sequence[WorkerInfo]


def find_workers(workers: Workers, wanted: str) -> Named:
    """The live workers of a host, or the one worker whose id begins like this.

    Raises:
        NotFound: there are none.
    """
    alive = [each for each in workers.all() if each.alive]
    of_host = [each for each in alive if each.facts.get("host") == wanted]
    if of_host:
        return Named(wanted, True, of_host)
    found = [each for each in alive if wanted and (each.id == wanted or each.id.startswith(f"{wanted}/"))]
    if len(found) == 1:
        return Named(found[0].id, False, found)
    known = [name for each in alive for name in (each.facts.get("host", ""), each.id)]
    hint = did_you_mean(wanted, known) or "`ocw status` shows hosts and workers; a worker is named as HOST/PID"
    raise NotFound(f"no live worker or host {wanted!r}", hint=hint)


def drain_answer(workers: Workers, wanted: str) -> dict[str, Any]:
    named = find_workers(workers, wanted)
    workers.drain(named.name)
    return _answer(workers, named, is_drained=True)


def undrain_answer(workers: Workers, wanted: str) -> dict[str, Any]:
    """Undrain a host or worker; one that is gone can be undrained by its name too.

    Raises:
        NotFound: it is not drained.
    """
    drained = workers.drained()
    # The note of a dead host stays, and would drain the host when it returns.
    name = wanted if wanted in drained else find_workers(workers, wanted).name
    if not workers.undrain(name):
        shown = ", ".join(drained) or "nothing"
        raise NotFound(f"{name} is not drained", hint=f"drained: {shown}")
    there = [each for each in workers.all() if each.alive and name in (each.id, each.facts.get("host"))]
    is_host = all(each.id != name for each in there)
    return _answer(workers, Named(name, is_host, there), is_drained=False)


def _answer(workers: Workers, named: Named, *, is_drained: bool) -> dict[str, Any]:
    drained = {*workers.drained()}
    at_work = [each for each in workers.all() if each.alive and not drained & {each.id, each.facts.get("host", "")}]
    served = {lane for each in at_work for lane in each.facts.get("lane", "").split(",")}
    return {
        "ok": True,
        "name": named.name,
        "kind": "host" if named.is_host else "worker",
        "drained": is_drained,
        "workers": sorted(each.id for each in named.workers),
        "lanesWithoutWorkers": [lane.value for lane in WORKER_LANES if lane.value not in served],
    }
