"""Markdown becomes text with entities."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingress.channels.telegram.markdown import styled
from tests.support.fake_telegram_bot import check_text


def marked(markdown: str) -> list[tuple[str, str]]:
    """Each entity's type and the text it covers."""
    found = styled(markdown)
    return [(each.type, found.text[each.start : each.end]) for each in found.entities]


@pytest.mark.parametrize(
    ("markdown", "text", "entities"),
    [
        ("plain", "plain", []),
        ("**bold** and *it*", "bold and it", [("bold", "bold"), ("italic", "it")]),
        ("***both***", "both", [("bold", "both"), ("italic", "both")]),
        ("~~gone~~", "gone", [("strikethrough", "gone")]),
        ("# Head", "Head", [("bold", "Head")]),
        ("# A **b**", "A b", [("bold", "A b")]),
        ("[site](https://a.example/x?y=1)", "site", [("text_link", "site")]),
        ("[file](docs/x.md)", "file (docs/x.md)", []),
        ("<https://a.example>", "https://a.example", [("text_link", "https://a.example")]),
        ("![cat](https://a.example/c.png)", "cat", [("text_link", "cat")]),
        ("`a<b`", "a<b", [("code", "a<b")]),
        ("<b>raw</b>", "<b>raw</b>", []),
        ("```python\nx = 1\n```", "x = 1", [("pre", "x = 1")]),
        ("> quoted\n> more", "quoted\nmore", [("blockquote", "quoted\nmore")]),
        ("> a\n> > b", "a\n\nb", [("blockquote", "a\n\nb")]),
        ("- a\n- b\n  - c", "• a\n• b\n  • c", []),
        ("3. a\n4. b", "3. a\n4. b", []),
        ("a\n\n---\n\nb", "a\n\n———\n\nb", []),
        ("one\ntwo\n\nthree", "one\ntwo\n\nthree", []),
        ("**“引号”**后面", "“引号”后面", [("bold", "“引号”")]),
        ("", "", []),
    ],
)
def test_each_element_has_its_counterpart(markdown: str, text: str, entities: list[tuple[str, str]]) -> None:
    assert styled(markdown).text == text
    assert marked(markdown) == entities


def test_code_inside_of_bold_text_interrupts_the_bold_entity() -> None:
    assert marked("**a `b` c**") == [("bold", "a "), ("code", "b"), ("bold", " c")]


def test_a_code_block_keeps_its_language_and_its_indentation() -> None:
    found = styled("- list\n\n  ```sh\n    indented\n  ```\n")
    (entity,) = found.entities
    assert (entity.language, found.text[entity.start : entity.end]) == ("sh", "  indented")


def test_nested_fences_keep_their_line_breaks() -> None:
    assert styled("````\n```\nx\n```\n````").text == "```\nx\n```"


def test_a_table_is_aligned_for_a_monospaced_font() -> None:
    found = styled("| a | 名称 |\n|---|---|\n| `x` | y |")
    assert found.text == "a | 名称\n--+-----\nx | y"
    assert found.entities[0].type == "pre"


def test_offsets_count_utf16_units() -> None:
    payload = styled("😀 **b**").payload()
    assert payload["entities"] == [{"type": "bold", "offset": 3, "length": 1}]


MARKS = st.sampled_from(
    [
        *"*_~`#>-|[]()!<&\\\n \t",
        "**",
        "```",
        "~~",
        "\n\n",
        "- ",
        "1. ",
        "| a |\n|-|\n",
        "https://a.b",
        "引",
        "😀",
        "a",
        "\u200d",
    ]
)


@given(st.one_of(st.lists(MARKS, max_size=60).map("".join), st.text(max_size=200)))
def test_whatever_is_written_gives_a_message_that_telegram_takes(markdown: str) -> None:
    found = styled(markdown)
    payload = found.payload()
    if found.text.strip():
        check_text(payload["text"], payload["entities"], limit=10**6)


@given(st.text(alphabet=st.characters(categories=["L", "N", "S", "P", "Z"]), max_size=100))
def test_no_letter_is_lost(text: str) -> None:
    shown = styled(text).text
    assert [char for char in text if char.isalpha()] == [char for char in shown if char.isalpha()] or "&" in text
