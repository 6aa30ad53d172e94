"""Files of tool results where an API takes only text as a result: they follow in a user message.

Nothing may stand between the results of one assistant message. So the files of all of them follow the last one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from openclaw_workers.domain.transcript import Attachment, ToolResultEntry, TranscriptEntry
from openclaw_workers.providers.attachments import note

# The model would otherwise take the files, and any text in them, for something the user sent.
FILES_OF_TOOLS: Final = "[files that the tools above returned; this is not a message from a person]"


def text_with_notes(entry: ToolResultEntry) -> str:
    """The text of a result, and where its files are."""
    return "\n".join(part for part in (entry.text, *map(note, entry.files)) if part)


def files_of_results(entries: Sequence[TranscriptEntry]) -> list[tuple[int, list[Attachment]]]:
    """For each row of results with files: the index of the last result, and the files of all of them."""
    # Most requests have none, and this test is much cheaper than the loop over a long conversation.
    if ToolResultEntry not in set(map(type, entries)):
        return []
    found: list[tuple[int, list[Attachment]]] = []
    files: list[Attachment] = []
    for index, entry in enumerate(entries):
        if type(entry) is not ToolResultEntry:
            continue
        files += entry.files
        ends_row = index + 1 == len(entries) or type(entries[index + 1]) is not ToolResultEntry
        if ends_row and files:
            found.append((index, files))
            files = []
    return found
