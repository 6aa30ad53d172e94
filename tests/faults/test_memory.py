"""kill -9 of the process that owns the memory index, while it indexes and while others search."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from openclaw_workers.domain.transcript import ToolResultEntry
from openclaw_workers.engine.memory.client import MemoryClient, MemoryUnavailable
from openclaw_workers.engine.place_client import PlaceClient
from openclaw_workers.memory.scopes import Visibility
from openclaw_workers.memory.search import MemorySearch
from openclaw_workers.state_dir import state_dir_id
from tests.faults.conftest import MakeFleet
from tests.support.faulty_workers import faulty, place
from tests.support.fleet import Fleet
from tests.support.programs import call, program, say
from tests.support.waiting import eventually

FILES = 300
MAIN = Visibility("main", (), sees_all=True)


def client_of(fleet: Fleet) -> MemoryClient:
    home = state_dir_id(fleet.workspace.parent)
    return MemoryClient(fleet.stores.memory, PlaceClient(fleet.stores.place_requests), lambda: home)


def write_files(fleet: Fleet, generation: str) -> None:
    folder = fleet.workspace / "memory"
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(FILES):
        lines = "\n".join(f"- {generation} item{number} line {line} of the story" for line in range(60))
        (folder / f"n{number}.md").write_text(f"# Number {number}\n\n{lines}\n")


def found(fleet: Fleet, query: str) -> dict[str, Any]:
    """The result of memory_search in a turn of a main worker."""
    search = call({"tool": "memory_search", "input": {"query": query}})
    assert fleet.outcome(fleet.send(program(search, say("ok"))), within=60).text == "ok"
    last = [entry for entry in fleet.transcript() if isinstance(entry, ToolResultEntry)][-1]
    return dict(json.loads("".join(block.text for block in last.content)))


def test_another_service_worker_takes_the_index_over(make_fleet: MakeFleet) -> None:
    fleet = make_fleet({})
    fleet.worker("main")
    owner = fleet.worker("service")
    client = client_of(fleet)
    write_files(fleet, "early")
    assert client.sync("main")["indexed"] == FILES
    second = fleet.worker("service")
    write_files(fleet, "late")

    request, _ = fleet.stores.place_requests.ask(state_dir_id(fleet.workspace.parent), "sync", {"agent": "main"})
    eventually(lambda: fleet.stores.place_requests.next_answer(request), within=30)  # it has begun to index
    owner.kill()

    answer = found(fleet, "late item7")
    assert answer["results"] or answer["unavailable"]
    eventually(lambda: "memory.owned" in second.log_text(), within=30)
    client.sync("main")
    status = client.status("main")
    assert (status["files"], status["changedFiles"]) == (FILES, 0)
    everything = client.search("early late item7", MAIN, {"maxResults": 50})["results"]
    assert not any("early" in result["snippet"] for result in everything)
    assert any("late item7" in result["snippet"] for result in everything)
    assert "late item7" in json.dumps(found(fleet, "late item7"))


def test_searches_that_the_owner_took_with_it_are_answered_by_the_next_one(make_fleet: MakeFleet) -> None:
    """It is killed in the middle of a search, while others ask too."""
    fleet = make_fleet({})
    client = client_of(fleet)
    (fleet.workspace / "memory").mkdir(parents=True)
    (fleet.workspace / "memory" / "cabin.md").write_text("- the cabin is blue\n")
    first = fleet.worker("service", **faulty(die=f"{place(MemorySearch.search)}:3"))
    assert "blue" in str(client.search("cabin", MAIN, {}))
    second = fleet.worker("service")

    with ThreadPoolExecutor(4) as people:
        asked = [people.submit(client.search, "cabin", MAIN, {}) for _ in range(12)]
    first.wait(within=20)

    assert "memory.owned" in second.log_text()
    assert all("blue" in str(each.result()) for each in asked)
    assert (client.status("main")["files"], client.status("main")["changedFiles"]) == (1, 0)


def test_a_paused_owner_keeps_the_files_locked_and_searches_say_so(make_fleet: MakeFleet) -> None:
    """It may wake up and write: nobody else opens its files, although its lease is over."""
    fleet = make_fleet({})
    owner = fleet.worker("service")
    write_files(fleet, "early")
    client = client_of(fleet)
    client.sync("main")
    owner.pause()
    second = fleet.worker("service")
    eventually(lambda: "memory.owned" in second.log_text(), within=30)

    with pytest.raises(MemoryUnavailable, match="another process of this host holds the index"):
        client.search("early", MAIN, {})

    owner.kill()
    eventually(lambda: _searches(client), within=20)


def _searches(client: MemoryClient) -> bool:
    try:
        return bool(client.search("early item3", MAIN, {})["results"])
    except MemoryUnavailable:
        return False
