"""Reduce a shell command to plain words, and compare it with a list of allowed commands.

A command is plain if everybody can see what runs: programs with literal arguments, joined by `|`, `&&`, `||`, `;` or
line breaks. Variables, substitutions, redirections, globs, subshells, assignments, loops and background jobs are not
plain: what they do is known only when they run. A command that is not plain never matches.

The grammar is that of tree-sitter. A second, simpler reader (`shlex`) must find the same words, so that a fault in one
of them is no way around the list.
"""

from __future__ import annotations

import glob
import os
import re
import shlex
import shutil
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Language, Node

Words = tuple[str, ...]
"""A program and its arguments, without quotes."""

MAX_COMMAND_CHARS = 10_000

_SEPARATORS = {"program": {";", "\n"}, "list": {"&&", "||"}, "pipeline": {"|"}}
# An unquoted word. A backslash makes the next character literal.
_UNQUOTED = re.compile(r"(?:[^\s\\'\"`$*?\[\]{}~()<>|&;]|\\[^\n])+")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED_IN_QUOTES = re.compile(r'\\(["\\$`])')
# Read as the beginning of a statement, or as a prefix, and not as a program.
_RESERVED = {
    *("if", "then", "elif", "else", "fi", "case", "esac", "for", "select", "while", "until", "do", "done", "in"),
    *("function", "time", "coproc", "{", "}", "!", "[[", "]]"),
}


class _NotPlain(Exception):
    pass


def parse(command: str) -> tuple[Words, ...] | None:
    """The words of each part of a command, in order; None if it is not plain."""
    if len(command) > MAX_COMMAND_CHARS or "\\\n" in command or not _is_printable(command):
        return None
    from tree_sitter import Parser  # noqa: PLC0415 (most processes never compare a command)

    root = Parser(_language()).parse(command.encode()).root_node
    if root.has_error:
        return None
    try:
        tokens = list(_tokens(root))
        parts = tuple(token for token in tokens if not isinstance(token, str))
    except _NotPlain:
        return None
    return parts if parts and _second_reading(command) == _flat(tokens) else None


def match(command: str, patterns: Sequence[str]) -> bool:
    """Whether each part of the command matches one of the patterns.

    A pattern is written like a command. Its first word is a program: a name, or a path with `*` (`/usr/bin/*`). Alone
    it allows any arguments. Further words allow exactly those arguments, each with `*`, `?` and `[...]`; a last word
    `*` allows any further ones: `git`, `git status`, `npm run *`.
    """
    parts = parse(command)
    return parts is not None and all(any(match_words(words, each) for each in patterns) for words in parts)


def match_words(words: Words, pattern: str) -> bool:
    """The same for one part. A program named by a relative path never matches: the agent can write such a file."""
    try:
        program, *expected = shlex.split(pattern)
    except ValueError:
        return False
    if not _is_program(words[0], program):
        return False
    arguments = words[1:]
    if not expected:
        return True
    if expected[-1] == "*":
        expected.pop()
        arguments = arguments[: len(expected)]
    return len(arguments) == len(expected) and all(map(fnmatchcase, arguments, expected))


def exact_pattern(words: Words) -> str:
    """The pattern that matches these words alone; without arguments it is the program's."""
    # An argument such as `*` was approved as that character and must not become a wildcard.
    return shlex.join(glob.escape(word) for word in words)


def _is_program(word: str, pattern: str) -> bool:
    if "/" not in pattern:
        if "/" not in word:
            return fnmatchcase(word, pattern)
        name = os.path.basename(word)
        # A path counts as the name only if the name alone would start the same file.
        return fnmatchcase(name, pattern) and word == shutil.which(name)
    # `*` also matches slashes: without the comparison, `/usr/bin/*` would allow `/usr/bin/../../tmp/x`.
    path = word if os.path.isabs(word) else shutil.which(word) if "/" not in word else None
    return path is not None and os.path.normpath(path) == path and fnmatchcase(path, pattern)


def _is_printable(command: str) -> bool:
    """Whether it has no character that a person does not see, such as an escape sequence or a zero-width space."""
    return command.replace("\n", "").replace("\t", "").isprintable()


@cache
def _language() -> Language:
    import tree_sitter_bash  # noqa: PLC0415
    from tree_sitter import Language  # noqa: PLC0415

    return Language(tree_sitter_bash.language())


def _tokens(root: Node) -> Iterator[Words | str]:
    """Words of commands, and the separators between them."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.type == "command":
            yield _words(node)
        elif node.type in _SEPARATORS:
            waiting += reversed(node.children)
        elif node.is_named or node.parent is None or node.type not in _SEPARATORS.get(node.parent.type, ()):
            raise _NotPlain
        else:
            yield node.type


def _words(command: Node) -> Words:
    first, *arguments = command.children
    if first.type != "command_name" or first.child_count != 1:
        raise _NotPlain
    name = first.children[0]
    words = tuple(_word(node) for node in (name, *arguments))
    if words[0] in _RESERVED or not words[0] or "=" in _text(name):
        raise _NotPlain
    return words


def _word(node: Node) -> str:
    text = _text(node)
    match node.type:
        case "word" | "number" if _UNQUOTED.fullmatch(text):
            return _ESCAPED.sub(r"\1", text)
        case "raw_string" if len(text) >= 2 and text[0] == text[-1] == "'":
            return text[1:-1]
        case "string" if len(text) >= 2 and text[0] == text[-1] == '"':
            if any(child.type not in ("string_content", '"') for child in node.children):
                raise _NotPlain
            return _ESCAPED_IN_QUOTES.sub(r"\1", text[1:-1])
        case "concatenation":
            return "".join(_word(child) for child in node.children)
    raise _NotPlain


def _text(node: Node) -> str:
    return (node.text or b"").decode()


def _flat(tokens: Sequence[Words | str]) -> list[str]:
    """Words and separators in one row, without line breaks."""
    rows = ([token] if isinstance(token, str) else list(token) for token in tokens)
    return [word for row in rows for word in row if row != ["\n"]]


def _second_reading(command: str) -> list[str]:
    reader = shlex.shlex(command, posix=True, punctuation_chars=";&|()<>")
    reader.whitespace_split = True
    # By default shlex drops everything after a #, but inside a word a shell takes it literally.
    reader.commenters = ""
    try:
        return list(reader)
    except ValueError:
        return []
