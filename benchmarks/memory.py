"""`make bench-memory DATA=…`: retrieval on a LoCoMo-format file, or on the project's own questions without one.

The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.own_questions import own_set
from benchmarks.retrieval import MODES, Bench, Conversation, Question, Said, open_bench
from openclaw_workers.memory.fusion import Weights, default_weights


class NoLocomo(Exception):
    """The file has another format."""


def locomo(path: Path) -> tuple[list[Conversation], list[Question]]:
    """Conversations and questions of a LoCoMo file: turns have a dia_id, questions name those as evidence.

    Questions whose evidence names no turn cannot be judged, and are left out.

    Raises:
        NoLocomo: the file has another format.
    """
    conversations: list[Conversation] = []
    questions: list[Question] = []
    given = json.loads(path.read_text(encoding="utf-8-sig"))
    for number, sample in enumerate(given if isinstance(given, list) else [given]):
        sessions = sample.get("conversation") if isinstance(sample, dict) else None
        if not isinstance(sessions, dict):
            raise NoLocomo(f"{path}: sample {number} has no `conversation` with the lists session_1, session_2, …")
        name = f"{number}-{sample.get('sample_id', '')}"
        turns = [said for key in sorted(sessions, key=_number) for said in _session(key, sessions)]
        known = {said.id for said in turns}
        conversations.append(Conversation(name, turns))
        for asked in sample.get("qa") or []:
            if evidence := _evidence(asked.get("evidence")) & known:
                questions.append(Question(name, str(asked["question"]), evidence))
    return conversations, questions


def _number(key: str) -> int:
    found = re.search(r"\d+", key)
    return int(found[0]) if found else 0


def _session(key: str, sessions: dict[str, Any]) -> list[Said]:
    """The turns of a session; none if it is something else, such as a date or the name of a speaker."""
    turns = sessions[key] if isinstance(sessions[key], list) else []
    at_ms = _time_ms(str(sessions.get(f"{key}_date_time")))
    return [
        Said(_id(str(turn.get("dia_id"))) or f"D{_number(key)}:{place}", _spoken(turn), at_ms)
        for place, turn in enumerate(turns, 1)
    ]


def _time_ms(written: str) -> int:
    """`1:56 pm on 8 May, 2023`; 0 if it is written in another way."""
    try:
        said = datetime.strptime(written, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
    except ValueError:
        return 0
    return int(said.timestamp() * 1000)


def _spoken(turn: dict[str, Any]) -> str:
    caption = f" [picture: {turn['blip_caption']}]" if turn.get("blip_caption") else ""
    return f"{turn.get('speaker') or ''}: {turn.get('text') or ''}{caption}"


def _id(text: str) -> str:
    """The first id of a turn in a text, such as D8:6; "" if there is none."""
    return next(iter(_ids(text)), "")


def _ids(text: str) -> list[str]:
    """The ids of turns in a text. The files also have `D8:6; D9:17`, `D:11:26` and `D30:05`."""
    return [f"D{int(session)}:{int(turn)}" for session, turn in re.findall(r"D:?(\d+):(\d+)", text)]


def _evidence(given: Any) -> frozenset[str]:
    return frozenset(each for text in (given if isinstance(given, list) else [given]) for each in _ids(str(text)))


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
    try:
        conversations, questions = locomo(given.data)
    except (OSError, ValueError, NoLocomo) as error:
        parser.error(str(error))
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
