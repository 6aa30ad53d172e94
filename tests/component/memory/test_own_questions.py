"""The judging half of the project's own questions: both together are never below words alone."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.memory import locomo
from benchmarks.own_questions import own_set
from benchmarks.retrieval import Question, open_bench

METRICS = ("recall@5", "recall@10", "recall@20", "hit@20", "mrr")


def test_fused_is_never_below_words_and_above_them_on_paraphrases() -> None:
    own = own_set()
    assert len(own.tuning) + len(own.judging) >= 200
    with open_bench([own.conversation]) as bench:
        words, fused = (bench.measure(own.judging, mode) for mode in ("keyword", "fused"))
        assert all(fused[name] >= words[name] for name in METRICS)
        words, fused = (bench.measure(own.judging_paraphrases, mode) for mode in ("keyword", "fused"))
        assert all(fused[name] > words[name] for name in METRICS)


def test_a_file_in_the_format_of_locomo_is_read(tmp_path: Path) -> None:
    sample = {
        "sample_id": "c1",
        "conversation": {
            "session_2": [{"speaker": "B", "dia_id": "D2:1", "text": "The otter is called Quill."}],
            "session_1": [{"speaker": "A", "dia_id": "D1:1", "text": "Hello!", "blip_caption": "a dog"}],
            "session_1_date_time": "1 May",
        },
        "qa": [{"question": "What is the otter called?", "evidence": ["D2:1"]}, {"question": "x", "evidence": []}],
    }
    path = tmp_path / "data.json"
    path.write_text(json.dumps([sample]))
    conversations, questions = locomo(path)

    assert [turn for turn, _ in conversations[0].turns] == ["D1:1", "D2:1"]
    assert questions == [Question("c1", "What is the otter called?", frozenset({"D2:1"}))]
    with open_bench(conversations) as bench:
        assert bench.measure(questions, "fused")["recall@5"] == 1.0
