"""Texts that were cut say so, and what was quoted stays quoted."""

from __future__ import annotations

import json
import re

from hypothesis import given
from hypothesis import strategies as st

from openclaw_workers.agent.context.truncate import head_and_tail, truncate_result
from openclaw_workers.agent.prompt.texts import LOOP_WARNING
from openclaw_workers.domain.untrusted import CLOSE, opening_marker, wrap

LENGTHS = st.one_of(st.none(), st.integers(0, 3000))


LEADS = st.sampled_from(["", "the command was ended after 1 s. Output so far:\n"])
WARNINGS = st.sampled_from(["", f"{LOOP_WARNING}exec was called with this same input 10 times before."])
OTHERS = st.builds(lambda text, times: text * times, st.text(min_size=1), st.integers(1, 60))


@given(OTHERS, st.integers(0, 6000), st.tuples(LENGTHS, LENGTHS), st.tuples(LEADS, WARNINGS))
def test_both_markers_survive_any_cut(
    quoted: str, most: int, kept: tuple[int | None, int | None], around: tuple[str, str]
) -> None:
    (head, tail), (lead, warning) = kept, around
    text = f"{lead}{wrap(quoted, 'tool exec')}{warning}"

    cut = truncate_result(text, most, head=head, tail=tail)

    assert cut == text or ("trimmed" in cut and len(cut) <= most)
    assert cut.startswith(f"{lead}{opening_marker('tool exec')}\n")
    assert cut.endswith(f"\n{CLOSE}{warning}")
    assert (cut.count("<<<UNTRUSTED_TEXT"), cut.count(CLOSE)) == (1, 1)


PIECES = st.lists(st.tuples(st.integers(0, 1200), st.integers(0, 1200)), min_size=1, max_size=6)
MARKS = re.compile(rf'<<<UNTRUSTED_TEXT from=\\?"session (\d)\\?">>>|{CLOSE}')


def quoted_from(text: str) -> list[tuple[str | None, str]]:
    """The pieces of a text, each with the number of the session it is marked as being from."""
    pieces: list[tuple[str | None, str]] = []
    source, at = None, 0
    for mark in MARKS.finditer(text):
        assert (source is None) == (mark[1] is not None), "an opening and a closing marker take turns"
        pieces.append((source, text[at : mark.start()]))
        source, at = mark[1], mark.end()
    assert source is None
    return [*pieces, (None, text[at:])]


@given(PIECES, st.integers(0, 6000), st.tuples(LENGTHS, LENGTHS), st.booleans())
def test_every_quotation_stays_closed_wherever_the_text_is_cut(
    pieces: list[tuple[int, int]], most: int, kept: tuple[int | None, int | None], map_json_strings: bool
) -> None:
    texts = [["-" * own, wrap(f"{n}" * quoted, f"session {n}")] for n, (own, quoted) in enumerate(pieces)]
    text = json.dumps(texts) if map_json_strings else "".join(piece for pair in texts for piece in pair)

    cut = truncate_result(text, most, head=kept[0], tail=kept[1])

    assert cut == text or ("trimmed" in cut and len(cut) <= most)
    for source, piece in quoted_from(cut):
        said = set(re.sub(r"\[… trimmed.*…\]", "", piece)) & set("012345-")
        assert said <= ({"-"} if source is None else {source})


@given(st.text(max_size=4000), st.integers(0, 4000), LENGTHS, LENGTHS)
def test_text_without_a_quotation_is_cut_like_any_other(
    text: str, most: int, head: int | None, tail: int | None
) -> None:
    assert truncate_result(text, most, head=head, tail=tail) == head_and_tail(text, most, head=head, tail=tail)


def test_a_long_text_with_a_short_quotation_is_cut_too() -> None:
    text = "x" * 9000 + wrap("y", "session agent:main:main") + "z" * 9000
    assert len(truncate_result(text, 2000)) == 2000
