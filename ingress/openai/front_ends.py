"""Requests that a chat front end makes on its own: titles, tags, follow-up questions, search queries.

They carry the headers of the chat that they are about. In its session they would stand between the person's messages,
so they are answered outside it. Only the wording tells them apart: that of Open WebUI's and LibreChat's templates.
"""

from __future__ import annotations

import re

_TASK = re.compile(r"\s*### Task:\s")
_FORM = re.compile(r"<chat_history>|^### (?:Output|Guidelines|Chat History|Examples?):", re.MULTILINE)
_OTHERS = (
    "Your task is to reflect the speaker's likely facial expression through a fitting emoji",
    "Provide a concise, 5-word-or-less title for the conversation",
    "Please generate a concise, 5-word-or-less title for the conversation",
)


def is_own_request(text: str) -> bool:
    """Whether a front end wrote this message, not a person. A person's `### Task:` alone does not count."""
    if _TASK.match(text):
        return _FORM.search(text) is not None
    return text.lstrip().startswith(_OTHERS)
