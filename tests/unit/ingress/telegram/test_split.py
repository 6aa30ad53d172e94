"""Long texts become several messages."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from ingress.channels.telegram.markdown import styled
from ingress.channels.telegram.split import MAX_ENTITIES, split
from ingress.channels.telegram.styled import Styled, utf16_length
from tests.support.fake_telegram_bot import check_text

LIMIT = 100


def texts(markdown: str, limit: int = LIMIT) -> list[str]:
    return [piece.text for piece in split(styled(markdown), limit)]


def letters(text: str) -> str:
    return re.sub(r"\s", "", text)


def test_a_short_text_is_one_message() -> None:
    assert texts("hello\n\nworld") == ["hello\n\nworld"]


def test_white_space_and_invisible_text_are_no_message() -> None:
    assert texts(" \n ") == []
    assert texts("\u200b\u200b") == []


def test_a_text_is_cut_between_paragraphs() -> None:
    first, second = "a" * 60, "b " * 25
    assert texts(f"{first}\n\n{second}") == [first, second.strip()]


def test_a_text_is_cut_between_words_where_there_is_nothing_better() -> None:
    pieces = texts("word " * 50)
    assert all(utf16_length(piece) <= LIMIT and piece.startswith("word") for piece in pieces)


def test_a_code_block_that_fits_is_not_cut() -> None:
    code = "line\n" * 12
    pieces = split(styled(f"{'a' * 70}\n\n```\n{code}```\n\nend"), LIMIT)
    assert [piece.text for piece in pieces] == ["a" * 70, f"{code.strip()}\n\nend"]


def test_a_code_block_that_is_too_long_is_cut_between_lines_and_stays_code() -> None:
    code = "\n".join(f"    line {number}" for number in range(40))
    pieces = split(styled(f"```python\n{code}\n```"), LIMIT)
    assert len(pieces) > 3
    assert all(piece.entities[0].type == "pre" and piece.entities[0].language == "python" for piece in pieces)
    assert all(piece.text.startswith("    line") for piece in pieces)


def test_a_link_is_not_cut() -> None:
    pieces = split(styled(f"{'a' * 80} [{'link text ' * 4}](https://a.example)"), LIMIT)
    assert [len(piece.entities) for piece in pieces] == [0, 1]


def test_an_emoji_with_modifiers_is_not_cut() -> None:
    family = "👩‍👩‍👧‍👦"
    pieces = texts(family * 40)
    assert all(letters(piece).count("👩‍👩‍👧‍👦") * len(family) == len(piece) for piece in pieces)


def test_no_message_has_more_entities_than_telegram_shows() -> None:
    pieces = split(styled("**b** " * 250))
    assert [len(piece.entities) for piece in pieces] == [MAX_ENTITIES, MAX_ENTITIES, 50]


BLOCKS = st.sampled_from(
    ["word ", "**bold words** ", "\n\n", "\n- item ", "\n\n```py\nx = 1\n    y\n```\n\n", "> quote\n\n", "`c` ", "😀"]
    + ["[l](https://a.b) ", "中文。", "a" * 150, "*i **b***", "\n\n```\n" + "long line of code\n" * 20 + "```\n\n"]
)


@settings(max_examples=300)
@given(st.lists(BLOCKS, max_size=40).map("".join), st.integers(20, 200))
def test_every_piece_is_valid_and_nothing_is_lost(markdown: str, limit: int) -> None:
    whole = styled(markdown)
    pieces = split(whole, limit)
    assert letters("".join(piece.text for piece in pieces)) == letters(whole.text)
    for piece in pieces:
        payload = piece.payload()
        check_text(payload["text"], payload["entities"], limit)
        assert piece == Styled(piece.text.rstrip(), piece.entities)
    assert covered(pieces) == covered([whole])


def covered(pieces: list[Styled]) -> dict[str, str]:
    """The letters that each type of entity covers."""
    found: dict[str, str] = {}
    for piece in pieces:
        for each in piece.entities:
            found[each.type] = found.get(each.type, "") + letters(piece.text[each.start : each.end])
    return found
