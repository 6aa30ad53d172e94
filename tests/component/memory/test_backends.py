"""What holds for the embedded index and for a server alike."""

from __future__ import annotations

import pytest

from openclaw_workers.memory.backend import Backend, collection_name
from openclaw_workers.memory.embedders.offline import OfflineEmbedder
from openclaw_workers.memory.fusion import Weights
from openclaw_workers.memory.index import MemoryIndex, fingerprint
from openclaw_workers.memory.points import CHUNK, where
from openclaw_workers.memory.scopes import SHARED, Visibility, session_scope
from openclaw_workers.memory.search import Found, MemorySearch, SearchOptions
from tests.component.memory.documents import BrokenEmbedder, Note

OFFLINE = OfflineEmbedder()
NAME = collection_name(fingerprint("offline/wordllama-256", 400, 80), 256)
MAIN = Visibility("main", (SHARED,))
NOTES = [
    Note("MEMORY.md", "# People\n\n- The wifi password of the cabin is tulip-42.\n- Anna likes green tea."),
    Note("memory/2026-01-02.md", "# Trip\n\n我们决定下周三去上海出差。酒店在外滩附近。"),
    Note("memory/ops.md", "# Operations\n\nThe staging server crashed because its disk was full."),
]


def indexed(backend: Backend, agent: str, *notes: Note) -> MemoryIndex:
    index = MemoryIndex(backend.open(NAME), agent, OFFLINE)
    index.sync(notes, complete=["memory"])
    return index


def search(backend: Backend, query: str, visible: Visibility = MAIN, **options: object) -> Found:
    return MemorySearch(backend.open(NAME), OFFLINE).search(query, visible, SearchOptions(**options))  # type: ignore[arg-type]


def paths(found: Found) -> list[str]:
    return [str(each.payload["path"]) for each in found.results]


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("cabin wifi password", "MEMORY.md"),
        ("why did the server crash", "memory/ops.md"),
        ("上海 出差", "memory/2026-01-02.md"),
        ("酒店在哪里", "memory/2026-01-02.md"),
        ("what does Anna drink", "MEMORY.md"),
    ],
)
def test_words_and_meaning_find_in_both_languages(backend: Backend, query: str, path: str) -> None:
    indexed(backend, "main", *NOTES)
    found = search(backend, query)

    assert paths(found)[0] == path
    assert found.mode == "hybrid"
    assert all(0 < each.score <= 1 for each in found.results)


def test_only_what_has_changed_is_read_and_deletions_follow(backend: Backend) -> None:
    notes = [Note("MEMORY.md", "the moon is grey"), Note("memory/a.md", "the sun is hot")]
    index = indexed(backend, "main", *notes)
    report = index.sync(notes, complete=["memory"])
    assert (report.indexed, [each.reads for each in notes]) == (0, [1, 1])

    changed = Note("MEMORY.md", "the moon is made of cheese", version="2")
    report = index.sync([changed], complete=["memory"])

    assert (report.indexed, report.removed) == (1, 1)
    assert [hit.payload["text"] for hit in search(backend, "moon cheese sun grey").results] == [changed.text]
    assert index.collection.count(where(kind=CHUNK, agent="main")) == 1


def test_an_interrupted_sync_is_made_good_by_the_next_one(backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process dies after the chunks are written and before the document is marked as indexed."""
    index = indexed(backend, "main", Note("MEMORY.md", "old words about ships"))
    newer = Note("MEMORY.md", "new words about trains", version="2")
    monkeypatch.setattr(MemoryIndex, "_delete_others", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        index.sync([newer], complete=["memory"])
    monkeypatch.undo()

    index.sync([newer], complete=["memory"])

    assert [hit.payload["text"] for hit in search(backend, "words about ships and trains").results] == [newer.text]


def test_agents_with_the_same_text_never_see_each_other(backend: Backend) -> None:
    same = "the launch code is 0000"
    indexed(backend, "main", Note("MEMORY.md", same))
    indexed(backend, "other", Note("MEMORY.md", same), Note("memory/x.md", "other launch plans"))

    for agent, count in (("main", 1), ("other", 2), ("third", 0)):
        found = search(backend, "launch code plans", Visibility(agent, (SHARED,)), max_results=10)
        assert {hit.payload["agent"] for hit in found.results} == ({agent} if count else set())
        assert len(found.results) == count


def test_another_agents_text_does_not_change_the_ranking(backend: Backend) -> None:
    """A word that is rare for one agent stays rare although another agent uses it in every line."""
    notes = [Note("memory/a.md", "zebra report"), Note("memory/b.md", "report of the report")]
    indexed(backend, "main", *notes)
    before = [(hit.payload["path"], hit.score) for hit in search(backend, "zebra report", mode="keyword").results]
    indexed(backend, "noisy", *(Note(f"memory/{number}.md", f"zebra {number}") for number in range(50)))

    after = [(hit.payload["path"], hit.score) for hit in search(backend, "zebra report", mode="keyword").results]
    assert [path for path, _ in after] == [path for path, _ in before]
    assert [score for _, score in after] == pytest.approx([score for _, score in before], rel=1e-4)


def test_scopes_hold(backend: Backend) -> None:
    group, main = "agent:main:telegram:group:1", "agent:main:main"
    indexed(
        backend,
        "main",
        Note("MEMORY.md", "secret of everybody"),
        Note("sessions/a.jsonl", "secret of the main session", source="sessions", scope=session_scope(main)),
        Note("sessions/b.jsonl", "secret of the group", source="sessions", scope=session_scope(group)),
    )

    def texts(*scopes: str) -> set[str]:
        return {hit.payload["text"] for hit in search(backend, "secret", Visibility("main", scopes)).results}

    assert texts(SHARED, session_scope(group)) == {"secret of everybody", "secret of the group"}
    assert texts(SHARED, session_scope(main)) == {"secret of everybody", "secret of the main session"}
    assert texts() == set()


@pytest.mark.parametrize("query", ['"green tea"', "Anna AND tea", "“green tea”"])
def test_exact_searches_return_only_what_holds_all_words(backend: Backend, query: str) -> None:
    indexed(backend, "main", *NOTES, Note("memory/b.md", "green meadows, black tea, Anna's house"))
    found = search(backend, query)

    assert "MEMORY.md" in paths(found)
    assert found.mode == "keyword"
    assert ("memory/b.md" in paths(found)) == ("AND" in query)


@pytest.mark.parametrize("query", ["4312", '"4312"', "what about ticket 4312?", "工单4312"])
def test_numbers_are_words(backend: Backend, query: str) -> None:
    tickets = (
        Note(f"memory/{number}.md", f"The owner of ticket ISS-{number} is away.") for number in range(4305, 4320)
    )
    indexed(backend, "main", *tickets)

    assert paths(search(backend, query, mode="keyword"))[0] == "memory/4312.md"


def test_without_an_embedder_words_are_searched_and_the_reason_is_said(backend: Backend) -> None:
    embedder = BrokenEmbedder()
    collection = backend.open(collection_name("broken", 4))
    index = MemoryIndex(collection, "main", embedder)
    report = index.sync(NOTES, complete=["memory"])
    engine = MemorySearch(collection, embedder)

    found = engine.search("cabin wifi", MAIN, SearchOptions())
    assert (report.unembedded, found.mode, found.note) == ("connection refused", "keyword", "connection refused")
    assert paths(found)[0] == "MEMORY.md"

    embedder.is_down = False
    assert index.sync(NOTES, complete=["memory"]).indexed == len(NOTES)  # embedded once the endpoint is back
    assert engine.search("cabin wifi", MAIN, SearchOptions()).mode == "hybrid"


def test_age_repetition_and_weights_count_as_set(backend: Backend) -> None:
    old, new = Note("memory/2020-01-01.md", "the red plan is red"), Note("memory/2026-01-01.md", "the plan is red too")
    indexed(backend, "main", old, new, Note("memory/other.md", "the plan for the garden is different"))
    collection, options = backend.open(NAME), SearchOptions(mode="keyword")
    engine = MemorySearch(collection, OFFLINE, now_ms=lambda: 1_767_312_000_000)  # 2026-01-02

    assert paths(engine.search("plan red", MAIN, options))[0] == old.path
    aged = SearchOptions(mode="keyword", half_life_days=30.0)
    assert paths(engine.search("plan red", MAIN, aged))[0] == new.path
    varied = SearchOptions(mode="keyword", mmr_share=0.3)
    assert paths(engine.search("plan red", MAIN, varied))[1] == "memory/other.md"
    by_words = SearchOptions(weights=Weights(1.0, 0.0), min_score=0.01)
    assert set(paths(engine.search("garden", MAIN, by_words))) == {"memory/other.md"}
    assert engine.search("plan red", MAIN, SearchOptions(min_score=1.0)).results == []
