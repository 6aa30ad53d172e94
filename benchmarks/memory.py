"""`make bench-memory DATA=…`: retrieval on a LoCoMo-format file, or on the project's own questions without one.

The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.own_questions import own_set
from benchmarks.retrieval import MODES, Bench, Conversation, Question, open_bench
from openclaw_workers.memory.fusion import Weights, default_weights


def locomo(path: Path) -> tuple[list[Conversation], list[Question]]:
    """Conversations and questions of a LoCoMo file: turns have a dia_id, questions name those as evidence."""
    conversations: list[Conversation] = []
    questions: list[Question] = []
    given = json.loads(path.read_text(encoding="utf-8"))
    for number, sample in enumerate(given if isinstance(given, list) else [given]):
        name = str(sample.get("sample_id") or f"conversation-{number}")
        turns = [
            (str(turn["dia_id"]), _spoken(turn))
            for key, session in sorted(sample["conversation"].items(), key=lambda item: _number(item[0]))
            if isinstance(session, list)
            for turn in session
        ]
        known = {turn for turn, _ in turns}
        conversations.append(Conversation(name, turns))
        for asked in sample.get("qa", []):
            evidence = frozenset(_evidence(asked.get("evidence", []))) & known
            if evidence:
                questions.append(Question(name, str(asked["question"]), evidence))
    return conversations, questions


def _number(key: str) -> int:
    found = re.search(r"\d+", key)
    return int(found[0]) if found else 0


def _spoken(turn: dict[str, Any]) -> str:
    caption = f" [picture: {turn['blip_caption']}]" if turn.get("blip_caption") else ""
    return f"{turn.get('speaker', '')}: {turn.get('text', '')}{caption}"


def _evidence(given: Any) -> list[str]:
    return [
        each for text in (given if isinstance(given, list) else [given]) for each in re.findall(r"D\d+:\d+", str(text))
    ]


def measure(bench: Bench, questions: Sequence[Question]) -> dict[str, Any]:
    return {mode: bench.measure(questions, mode) for mode in MODES}


def tune(bench: Bench, questions: Sequence[Question]) -> None:
    """Print what each weight of meaning reaches."""
    for percent in range(0, 65, 5):
        found = bench.measure(questions, "fused", Weights(1 - percent / 100, percent / 100))
        print(f"vector weight {percent / 100:.2f}: recall@5 {found['recall@5']:.4f} mrr {found['mrr']:.4f}")


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.memory", description=__doc__)
    parser.add_argument("data", nargs="?", type=Path, help="a LoCoMo-format JSON file")
    parser.add_argument("--tune", action="store_true", help="only print what each weight reaches on the tuning half")
    given = parser.parse_args(words)
    if given.data is None:
        _own(is_tuning=given.tune)
        return
    conversations, questions = locomo(given.data)
    print(f"{len(conversations)} conversations, {len(questions)} questions", file=sys.stderr)
    with open_bench(conversations) as bench:
        _print(bench, measure(bench, questions), len(questions), str(given.data))


def _own(*, is_tuning: bool) -> None:
    own = own_set()
    with open_bench([own.conversation]) as bench:
        if is_tuning:
            tune(bench, own.tuning)
            return
        found = measure(bench, own.judging)
        found["paraphrases"] = measure(bench, own.judging_paraphrases)
        _print(bench, found, len(own.judging), "own questions")


def _print(bench: Bench, found: dict[str, Any], questions: int, data: str) -> None:
    weights = default_weights("offline")
    facts = {
        "data": data,
        "turns": bench.turns,
        "questions": questions,
        "indexSeconds": round(bench.index_seconds, 2),
        "weights": {"text": weights.text, "vector": weights.vector},
    }
    print(json.dumps({**facts, **found}))


if __name__ == "__main__":
    main()
