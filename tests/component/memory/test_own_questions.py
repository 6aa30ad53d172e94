"""The judging half of the project's own questions: both together are never below words alone. Files of LoCoMo."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.memory import locomo, main
from benchmarks.own_questions import own_set
from benchmarks.retrieval import open_bench

METRICS = ("recall@5", "recall@10", "recall@20", "hit@20", "mrr")


def test_fused_is_never_below_words_and_above_them_on_paraphrases() -> None:
    own = own_set()
    assert len(own.tuning) + len(own.judging) >= 200
    with open_bench([own.conversation]) as bench:
        words, fused = (bench.measure(own.judging, mode) for mode in ("keyword", "fused"))
        assert all(fused[name] >= words[name] for name in METRICS)
        words, fused = (bench.measure(own.judging_paraphrases, mode) for mode in ("keyword", "fused"))
        assert all(fused[name] > words[name] for name in METRICS)


SAMPLE: dict[str, Any] = {
    "sample_id": "conv-26",
    "conversation": {
        "speaker_a": "Ada",
        "speaker_b": "Ben",
        "session_10_date_time": "9:00 am on 2 June, 2023",
        "session_10": [{"speaker": "Ben", "dia_id": "D10:1", "text": "We sailed to the island."}],
        "session_2": [
            {"speaker": "Ben", "dia_id": "D2:1", "text": "The otter is called Quill."},
            {"speaker": "Ada", "dia_id": "D2:2", "text": None, "img_url": ["x"], "blip_caption": "a zeppelin"},
        ],
        "session_2_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [{"speaker": "Ada", "dia_id": "D1:1", "text": "Hello!"}, {"speaker": "Ben", "text": "Hi."}],
        "session_1_date_time": "long ago",
        "session_3_date_time": "7:00 pm on 9 May, 2023",
        "session_4": [],
    },
    "qa": [
        {"question": "What is the otter called?", "answer": "Quill", "evidence": ["D2:1"], "category": 4},
        {"question": "Who said hello to the otter?", "answer": 2, "evidence": ["D1:1; D:2:01"], "category": 1},
        {"question": "Who flies a zeppelin?", "adversarial_answer": "Ben", "evidence": "D2:2", "category": 5},
        {"question": "What happened on 2 June?", "answer": "sailing", "evidence": ["D10:1", ""], "category": 2},
        {"question": "No evidence?", "evidence": [], "category": 3},
        {"question": "Nothing known?", "evidence": ["D", "D99:1"], "category": 3},
        {"question": "None at all?", "category": 3},
    ],
    "event_summary": {},
    "observation": {},
    "session_summary": {},
}


def test_a_file_in_the_format_of_locomo_is_read(tmp_path: Path) -> None:
    path = tmp_path / "data.json"
    path.write_text(json.dumps([SAMPLE, SAMPLE]))
    conversations, questions = locomo(path)

    assert [said.id for said in conversations[0].turns] == ["D1:1", "D1:2", "D2:1", "D2:2", "D10:1"]
    assert [said.time_ms > 0 for said in conversations[0].turns] == [False, False, True, True, True]
    assert {each.conversation for each in questions} == {"0-conv-26", "1-conv-26"}
    evidence = [{"D2:1"}, {"D1:1", "D2:1"}, {"D2:2"}, {"D10:1"}]
    assert [each.evidence for each in questions] == [*evidence, *evidence]
    with open_bench(conversations) as bench:
        assert bench.measure(questions, "keyword")["recall@5"] > 0.9, "the caption and the day are found too"


def test_the_command_ends_with_one_json_object(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "one.json"
    path.write_text(json.dumps(SAMPLE), encoding="utf-8-sig")
    main([str(path)])
    found = json.loads(capsys.readouterr().out.splitlines()[-1])

    assert (found["turns"], found["questions"]) == (5, 4)
    assert all({*METRICS, "queryMsP50"} <= found[mode].keys() for mode in ("keyword", "dense", "fused"))


@pytest.mark.parametrize("content", ["[[]]", '{"a": 1}', "no JSON", '[{"conversation": []}]'])
def test_another_file_is_refused(tmp_path: Path, content: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "other.json"
    path.write_text(content)
    with pytest.raises(SystemExit):
        main([str(path)])
    assert "error: " in capsys.readouterr().err
