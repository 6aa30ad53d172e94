"""Identifiers such as ids, hashes, URLs and paths, which a summary must keep exactly."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from openclaw_workers.agent.prompt.texts import KEEP_IDENTIFIERS
from openclaw_workers.config.context import CompactionSettings
from openclaw_workers.domain.transcript import AssistantEntry, TextBlock, TranscriptEntry, UserEntry
from openclaw_workers.domain.untrusted import unwrap

MAX_IDENTIFIERS = 12
"""How many a summary must contain; all that ever occurred would leave no room for the summary."""
RECENT_MESSAGES = 10
"""How many of the latest dropped messages are searched."""
MAX_CHARS = 200
SEARCHED_CHARS = 20_000
"""How many characters at the end of each text are searched."""

# Every repetition is bounded: the texts come from anywhere, and a search must not take for ever.
_KINDS = (
    r"https?://[^\s<>\"'`)\]}]{1,300}",
    r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b",
    r"\b\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?\b",
    r"\b[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,6}\b",
    r"(?<![\w/.~-])(?:~|\.{1,2})?/?(?:[\w.@+-]{1,80}/){1,20}[\w.@+-]{0,80}\w",  # a path of two parts or more
    r"\b(?:[a-zA-Z0-9-]{1,63}\.){1,6}[a-zA-Z]{2,20}:\d{2,5}\b",  # host:port
    r"\b[\w-]{1,80}\.(?:py|js|ts|tsx|go|rs|c|h|cpp|java|rb|sh|lua|sql|md|txt|json|jsonl|ya?ml|toml|ini|cfg|conf|env|csv|log"
    r"|html|css|xml|pdf|png|jpe?g|zip|gz|tar|db|sqlite|lock)\b",
    r"\b(?=[0-9a-f]{0,63}\d)(?=[0-9a-f]{0,63}[a-f])[0-9a-f]{7,64}\b",  # a hash, short or long
    r"\b[A-Z][A-Z0-9]{1,9}-\d{1,9}\b",  # a ticket
    r"\b[A-Za-z]{2,12}[-_](?=[A-Za-z0-9]{0,63}\d)[A-Za-z0-9]{6,64}\b",  # run-3f2a91bc, sk_4eC39Hq
)
_IDENTIFIER = re.compile("|".join(f"(?:{kind})" for kind in _KINDS))


def instructions(settings: CompactionSettings) -> str:
    """The summariser's instructions about identifiers."""
    match settings.identifier_policy:
        case "strict":
            return KEEP_IDENTIFIERS
        case "custom":
            return settings.identifier_instructions or ""
        case "off":
            return ""


def expected(dropped: Sequence[TranscriptEntry]) -> list[str]:
    """The identifiers that a summary of these messages must contain.

    Newest messages come first, and what people and the model wrote comes before tool results.
    """
    recent = [entry for entry in dropped if entry.role not in ("notice", "compaction")][-RECENT_MESSAGES:]
    said = [text for entry in reversed(recent) for text in _texts(entry, spoken=True)]
    returned = [text for entry in reversed(recent) for text in _texts(entry, spoken=False)]
    found: list[str] = []
    for name in find([*said, *returned]):
        # The host of a URL or the name of a file in a path needs no place of its own.
        if not any(name in longer for longer in found):
            found.append(name)
        if len(found) == MAX_IDENTIFIERS:
            break
    return found


def find(texts: Iterable[str]) -> list[str]:
    """Identifiers in these texts, each once."""
    names = (match.group().rstrip(".,;:!?") for text in texts for match in _IDENTIFIER.finditer(text[-SEARCHED_CHARS:]))
    return list(dict.fromkeys(name for name in names if 4 <= len(name) <= MAX_CHARS))


def missing(summary: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if name not in summary]


def _texts(entry: TranscriptEntry, *, spoken: bool) -> list[str]:
    match entry:
        case UserEntry() if spoken:
            return [unwrap(block.text) for block in entry.content if isinstance(block, TextBlock)]
        case AssistantEntry() if spoken:
            return [entry.text, *(str(value) for call in entry.tool_calls for value in call.arguments.values())]
        case UserEntry() | AssistantEntry():
            return []
        case _ if not spoken:
            return [unwrap(block.text) for block in getattr(entry, "content", []) if isinstance(block, TextBlock)]
        case _:
            return []
