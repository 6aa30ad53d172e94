"""The installation as JSON."""

from __future__ import annotations

from openclaw_workers.domain.ids import RunId, SessionKey, WorkerId
from openclaw_workers.domain.runs import Lane
from openclaw_workers.domain.worker_info import WorkerInfo
from openclaw_workers.store.overview import HeldLease, Queue, Waiting
from openclaw_workers.views.status import status_json
from tests.unit.views.test_trees import ROOT, batch

WORKER = WorkerId("host/42/abc")
CHILD = SessionKey("agent:main:subagent:a")


def test_lanes_sum_up_workers_leases_and_waiting_messages() -> None:
    facts = {"lane": "main,subagent", "concurrency": "4", "pool": "threads", "started_at": "5"}
    status = status_json(
        workers=[
            WorkerInfo(WORKER, True, 90, facts),
            WorkerInfo(WorkerId("host/7/gone"), False, 1, {"lane": "main", "concurrency": "8"}),
        ],
        held=[HeldLease(CHILD, RunId("run-a"), WORKER, 1, 500, 10)],
        queues={lane: Queue(1, 2, 3) for lane in Lane},
        caps={Lane.SUBAGENT: 8},
        waiting=[Waiting(SessionKey(ROOT), 2, 30), Waiting(SessionKey("agent:main:b"), 1, 20), Waiting(CHILD, 4, None)],
        totals={"sessions": 3},
        undelivered=[*batch("b", "settled").values(), *batch("c", "blocked").values()],
        waiting_archives={"host:state": 2},
        unsafe_settings={"appendonly": "no"},
        ingresses=[],
        now_ms=100,
    )

    assert status["waitingArchives"] == [{"place": "host:state", "archives": 2}]
    assert status["unsafeSettings"] == {"appendonly": "no"}
    main, subagent, _ = status["lanes"]
    assert [main[name] for name in ("workers", "concurrency", "running", "cap")] == [1, 4, 0, None]
    assert [subagent[name] for name in ("workers", "concurrency", "running", "cap")] == [1, 4, 1, 8]
    assert (main["waiting"], main["oldestWaitingAt"]) == (3, 20)
    assert (subagent["waiting"], subagent["oldestWaitingAt"]) == (4, None)
    assert [worker["runs"] for worker in status["workers"]] == [["run-a"], []]
    assert (status["workers"][0]["host"], status["workers"][0]["pid"]) == ("host", 42)
    assert status["totals"] == {
        "sessions": 3,
        "workers": 1,
        "waiting": 7,
        "pendingAnnounces": 1,
        "blockedAnnounces": 1,
    }
