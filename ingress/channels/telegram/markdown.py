"""Markdown to text with entities."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from unicodedata import east_asian_width

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode
from mdit_py_cjk_friendly import cjk_friendly

from ingress.channels.telegram.styled import Entity, Styled
from openclaw_workers.domain.encoding import replace_surrogates

# Raw HTML stays text: a reader sees what the model wrote, and nothing of it is interpreted.
_PARSER = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).use(cjk_friendly)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\u2028-\u202e]")
_LINKED = re.compile(r"(?:https?|tg)://\S+", re.IGNORECASE)
_STYLES = {"strong": "bold", "em": "italic", "s": "strikethrough"}
_RULE = "———"
_BULLET = "• "


def styled(markdown: str) -> Styled:
    """Render Markdown. Nothing that a model can write is refused; what has no counterpart stays text."""
    clean = _CONTROL.sub("", replace_surrogates(markdown).replace("\r\n", "\n").replace("\r", "\n"))
    writer = _Writer()
    _Blocks(writer).children(SyntaxTreeNode(_PARSER.parse(clean)))
    return writer.result()


class _Writer:
    """Collects text and entities. Line breaks are written only when something follows them."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._entities: list[Entity] = []
        self._indent = ""
        self._gap = 0
        self._solid: list[tuple[int, int]] = []
        self.position = 0

    def result(self) -> Styled:
        ordered = sorted(self._entities, key=lambda each: (each.start, -each.end))
        return Styled("".join(self._pieces), tuple(ordered))

    def gap(self, lines: int) -> None:
        """The next text begins at least so many line breaks further down."""
        if self.position:
            self._gap = max(self._gap, lines)

    def write(self, text: str) -> None:
        if not text:
            return
        self._break()
        self._put(text.replace("\n", "\n" + self._indent) if self._indent else text)

    def block(self, text: str, entity: str, language: str = "") -> None:
        """A code block: written without indentation, and no other formatting reaches into it."""
        self._gap, indent = max(self._gap, 1 if self.position else 0), self._indent
        self._indent = ""
        self._break()
        self._indent = indent
        self._code(text, entity, language)

    def code(self, text: str) -> None:
        self._break()
        self._code(text, "code", "")

    @contextmanager
    def style(self, entity: str, url: str = "") -> Iterator[None]:
        """Format what is written inside. Telegram allows no other entity together with code, so code is left out."""
        self._break()
        start = self.position
        yield
        for begin, end in _without(start, self.position, [each for each in self._solid if each[0] >= start]):
            self._entities.append(Entity(entity, begin, end, url))

    @contextmanager
    def quote(self) -> Iterator[None]:
        self._break()
        start = self.position
        yield
        if self.position > start:
            self._entities.append(Entity("blockquote", start, self.position))

    @contextmanager
    def indented(self, by: str) -> Iterator[None]:
        outer, self._indent = self._indent, self._indent + by
        yield
        self._indent = outer

    def _code(self, text: str, entity: str, language: str) -> None:
        start = self.position
        self._put(text)
        self._entities.append(Entity(entity, start, self.position, language=language))
        self._solid.append((start, self.position))

    def _break(self) -> None:
        if self._gap:
            gap, self._gap = self._gap, 0
            self._put("\n" * gap + self._indent)

    def _put(self, text: str) -> None:
        self._pieces.append(text)
        self.position += len(text)


def _without(start: int, end: int, holes: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    for begin, stop in holes:
        if begin > start:
            yield start, begin
        start = max(start, stop)
    if end > start:
        yield start, end


class _Blocks:
    def __init__(self, writer: _Writer) -> None:
        self._writer = writer
        self._inlines = _Inlines(writer)
        self._is_quoted = False

    def children(self, node: SyntaxTreeNode, lines: int = 2) -> None:
        """The blocks of a node, so many line breaks apart."""
        for index, child in enumerate(node.children):
            if index:
                self._writer.gap(lines)
            self._block(child)

    def _block(self, node: SyntaxTreeNode) -> None:
        match node.type:
            case "paragraph":
                self._inlines.children(node.children[0])
            case "heading":
                with self._writer.style("bold"):
                    self._inlines.children(node.children[0], frozenset({"bold"}))
            case "fence" | "code_block":
                self._code_block(node)
            case "bullet_list" | "ordered_list":
                self._list(node)
            case "blockquote":
                self._quote(node)
            case "table":
                self._writer.block(_table(node), "pre")
            case "hr":
                self._writer.write(_RULE)
            case _:
                self._writer.write(node.content)

    def _code_block(self, node: SyntaxTreeNode) -> None:
        text = node.content.rstrip("\n")
        if text.strip():
            self._writer.block(text, "pre", node.info.split(maxsplit=1)[0] if node.info.strip() else "")

    def _quote(self, node: SyntaxTreeNode) -> None:
        if self._is_quoted:  # Telegram has no quotations inside quotations
            self.children(node)
            return
        self._is_quoted = True
        with self._writer.quote():
            self.children(node)
        self._is_quoted = False

    def _list(self, node: SyntaxTreeNode) -> None:
        first = int(node.attrs.get("start", 1))
        # markdown-it hides the paragraphs of lists that have no blank lines in them.
        is_tight = all(part.hidden for item in node.children for part in item.children if part.type == "paragraph")
        for index, item in enumerate(node.children):
            if index:
                self._writer.gap(1 if is_tight else 2)
            mark = _BULLET if node.type == "bullet_list" else f"{first + index}. "
            self._writer.write(mark)
            with self._writer.indented(" " * len(mark)):
                self.children(item, 1 if is_tight else 2)


class _Inlines:
    def __init__(self, writer: _Writer) -> None:
        self._writer = writer

    def children(self, node: SyntaxTreeNode, active: frozenset[str] = frozenset()) -> None:
        for child in node.children:
            self._inline(child, active)

    def _inline(self, node: SyntaxTreeNode, active: frozenset[str]) -> None:
        match node.type:
            case "text":
                self._writer.write(node.content)
            case "softbreak" | "hardbreak":
                self._writer.write("\n")
            case "code_inline":
                self._code(node.content, active)
            case "link":
                self._link(node, str(node.attrs.get("href", "")), active)
            case "image":
                self._image(node, active)
            case "strong" | "em" | "s":
                self._style(node, _STYLES[node.type], active)
            case _:
                self._writer.write(node.content)

    def _style(self, node: SyntaxTreeNode, entity: str, active: frozenset[str]) -> None:
        if entity in active:
            self.children(node, active)
            return
        with self._writer.style(entity):
            self.children(node, active | {entity})

    def _code(self, text: str, active: frozenset[str]) -> None:
        if "text_link" in active or not text.strip():
            self._writer.write(text)
        else:
            self._writer.code(text)

    def _link(self, node: SyntaxTreeNode, url: str, active: frozenset[str]) -> None:
        if "text_link" in active:
            self.children(node, active)
        elif _LINKED.fullmatch(url):
            with self._writer.style("text_link", url):
                self.children(node, active | {"text_link"})
        else:
            # Telegram links only web addresses; of any other it is shown where it leads.
            self.children(node, active)
            if url and url != _plain(node):
                self._writer.write(f" ({url})")

    def _image(self, node: SyntaxTreeNode, active: frozenset[str]) -> None:
        url, words = str(node.attrs.get("src", "")), node.content or "image"
        if _LINKED.fullmatch(url) and "text_link" not in active:
            with self._writer.style("text_link", url):
                self._writer.write(words)
        else:
            self._writer.write(f"{words} ({url})" if url else words)


def _plain(node: SyntaxTreeNode) -> str:
    return "".join(each.content for each in node.walk() if each.type in ("text", "code_inline"))


def _table(node: SyntaxTreeNode) -> str:
    """Columns of equal width, for a monospaced font."""
    rows = [[_plain(cell) for cell in row.children] for part in node.children for row in part.children]
    widths = [max(map(_width, column)) for column in zip(*rows, strict=True)]
    lines = [" | ".join(_padded(cell, width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    lines.insert(1, "-+-".join("-" * width for width in widths))
    return "\n".join(line.rstrip() for line in lines)


def _width(text: str) -> int:
    """Columns in a monospaced font, where Chinese characters take two."""
    return sum(2 if east_asian_width(char) in "WF" else 1 for char in text)


def _padded(text: str, width: int) -> str:
    return text + " " * (width - _width(text))
