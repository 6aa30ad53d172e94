"""Markdown in a chat: split into blocks as it arrives, and rendered for the terminal."""

from __future__ import annotations

import pytest

from openclaw_workers.cli.chat.markdown import MarkdownBlocks, Renderer

TEXT = """\
# Heading

A paragraph
of two lines.

1. one

   still one
2. two

```python
a = 1

b = 2
```
| a | b |
| - | - |
| 1 | 2 |

The end
"""


@pytest.mark.parametrize("size", [1, 3, 7, len(TEXT)])
def test_blocks_are_whole_however_the_text_is_cut(size: int) -> None:
    blocks = MarkdownBlocks()
    found = [block for at in range(0, len(TEXT), size) for block in blocks.add(TEXT[at : at + size])]
    found.append(blocks.take_rest())

    assert [block.split("\n")[0] for block in found] == [
        "# Heading",
        "A paragraph",
        "1. one",
        "```python",
        "| a | b |",
        "The end",
    ]
    assert "b = 2" in found[3]
    assert "still one" in found[2]
    assert "two" in found[2]


def test_words_are_wrapped_and_markup_is_gone() -> None:
    shown = Renderer(20).markdown("**bold** words that are too long for one line, and [a link](http://x.y)")
    assert "bold words that are\n" in shown
    assert "**" not in shown
    assert "http://x.y" in shown.replace("\n", "")
    assert all(len(line) <= 20 for line in shown.splitlines())


def test_blocks_begin_and_end_without_an_empty_line() -> None:
    for block in ("- one\n- two", "```\ncode\n```", "| a |\n| - |\n| 1 |", "# Title"):
        lines = Renderer(20).markdown(block).split("\n")
        assert lines[0].strip()
        assert lines[-2].strip()


def test_plain_text_is_wrapped_with_an_indent() -> None:
    assert Renderer(11).plain("one two three\nfour", hanging="  ") == "one two\n  three\n  four\n"


def test_an_empty_text_is_no_line() -> None:
    assert Renderer(20).markdown(" \n") == ""


def test_the_end_of_what_arrives_fits() -> None:
    lines = Renderer(11).last_lines("one two three four five six seven", 2)
    assert lines == ["five six", "seven"]
