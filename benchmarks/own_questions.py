"""The project's own questions, in English and Chinese: each fact has a question with its words and a paraphrase.

Every second fact is for tuning, the others are for judging.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from benchmarks.retrieval import Conversation, Question, Said

FILE = Path(__file__).parents[1] / "tests" / "data" / "memory" / "facts.tsv"


@dataclass(frozen=True)
class OwnSet:
    conversation: Conversation
    tuning: list[Question]
    judging: list[Question]
    judging_paraphrases: list[Question]


def own_set(path: Path = FILE) -> OwnSet:
    rows = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines() if line]
    turns = [Said(f"f{number}", fact) for number, (_, fact, _, _) in enumerate(rows)]
    tuning: list[Question] = []
    judging: list[Question] = []
    paraphrases: list[Question] = []
    for number, (_, _, worded, paraphrase) in enumerate(rows):
        asked = [Question("own", text, frozenset({f"f{number}"})) for text in (worded, paraphrase)]
        if number % 2 == 0:
            tuning += asked
        else:
            judging += asked
            paraphrases.append(asked[1])
    return OwnSet(Conversation("own", turns), tuning, judging, paraphrases)
