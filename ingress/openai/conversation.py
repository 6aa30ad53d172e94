"""From the messages of a request to what an agent reads: the message, what was said before it, and instructions."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from ingress.openai.errors import ApiError
from ingress.openai.requests import TOOLS_REFUSED, ChatMessage
from openclaw_workers.domain.sent_files import SentFile

MOST_TEXT_BYTES = 4_000_000
"""Of the earlier messages of a stateless request together."""
BEGINNING = "(the conversation begins here)"
"""A conversation that a front end opens with a greeting begins with an answer; model APIs want a question first."""

_DATA_URL = re.compile(r"data:([\w.+-]+/[\w.+-]+)?(?:;[\w=.+-]+)*;base64,", re.ASCII)
_ENDINGS = {"image/jpeg": "jpg", "image/svg+xml": "svg", "text/plain": "txt"}


@dataclass(frozen=True, slots=True)
class Said:
    """One message."""

    role: str
    text: str
    files: tuple[SentFile, ...] = ()


@dataclass(frozen=True, slots=True)
class Conversation:
    system: str
    """What the client tells the agent about itself, from all system messages."""
    message: Said
    """The one to answer."""
    earlier: list[Said] = field(default_factory=list)
    """What was said before it, alternating and beginning with the person."""


def with_history(messages: Sequence[ChatMessage]) -> Conversation:
    """A stateless request: its last message is answered, the ones before it are the transcript.

    Raises:
        ApiError: the last message is not a person's, or one of them cannot be used.
    """
    if messages[-1].role != "user":
        raise ApiError(
            400,
            "the last message must have the role user",
            code="invalid_request",
            param=f"messages.{len(messages) - 1}",
        )
    said = [_said(message, index) for index, message in enumerate(messages)]
    spoken = [each for each in said if each.role in ("user", "assistant")]
    *earlier, last = [each for each in spoken if each is said[-1] or each.text.strip() or each.files]
    if sum(len(each.text.encode(errors="replace")) for each in earlier) > MOST_TEXT_BYTES:
        raise ApiError(
            400,
            f"the earlier messages have more than {MOST_TEXT_BYTES:,} bytes of text",
            code="context_length_exceeded",
            param="messages",
        )
    return Conversation(_system(said), last, _alternating(earlier))


def newest_only(messages: Sequence[ChatMessage]) -> Conversation:
    """A request in a session, which remembers by itself: only the last message of the person counts.

    Raises:
        ApiError: there is none, or it cannot be used.
    """
    index = max((index for index, each in enumerate(messages) if each.role == "user"), default=None)
    if index is None:
        raise ApiError(400, "there is no message with the role user", code="invalid_request", param="messages")
    said = [_said(each, place) for place, each in enumerate(messages) if each.role in ("system", "developer")]
    return Conversation(_system(said), _said(messages[index], index))


def _system(said: Sequence[Said]) -> str:
    return "\n\n".join(each.text for each in said if each.role == "system" and each.text.strip())


def _alternating(said: Sequence[Said]) -> list[Said]:
    """Messages of one role that stand together made one."""
    turns: list[Said] = []
    for each in said:
        if turns and turns[-1].role == each.role:
            last = turns.pop()
            texts = [text for text in (last.text, each.text) if text]
            turns.append(Said(each.role, "\n\n".join(texts), (*last.files, *each.files)))
        else:
            turns.append(each)
    if turns and turns[0].role == "assistant":
        turns.insert(0, Said("user", BEGINNING))
    return turns


def _said(message: ChatMessage, index: int) -> Said:
    where = f"messages.{index}"
    if message.role in ("tool", "function") or message.tool_calls or message.function_call:
        raise ApiError(400, TOOLS_REFUSED, code="client_tools_unsupported", param=where)
    role = "system" if message.role == "developer" else message.role
    if message.content is None or isinstance(message.content, str):
        return Said(role, message.content or "")
    texts: list[str] = []
    files: list[SentFile] = []
    for number, part in enumerate(message.content):
        place = f"{where}.content.{number}"
        match part:
            case {"type": "text", "text": str(text)} | {"type": "refusal", "refusal": str(text)}:
                texts.append(text)
            case {"type": "image_url", "image_url": {"url": str(url)}} | {"type": "image_url", "image_url": str(url)}:
                files.append(_file(url, f"image-{number + 1}", place))
            case {"type": "file", "file": {"file_data": str(url), **about}}:
                files.append(_file(url, str(about.get("filename") or f"file-{number + 1}"), place))
            case _:
                kind = part.get("type")
                raise ApiError(
                    400,
                    f"content of type {kind!r} is not supported; send text, image_url or file",
                    code="unsupported_content",
                    param=place,
                )
    return Said(role, "\n".join(texts), tuple(files))


def _file(url: str, name: str, where: str) -> SentFile:
    """A file inside a data URL. Addresses are not fetched: whoever sends one could reach into our network."""
    found = _DATA_URL.match(url)
    if found is None:
        raise ApiError(
            400,
            "send pictures and files as data URLs (data:image/png;base64,…); addresses are not fetched",
            code="unsupported_image_url",
            param=where,
        )
    try:
        data = base64.b64decode(url[found.end() :], validate=True)
    except (binascii.Error, ValueError) as error:
        raise ApiError(400, "the data URL is not valid base64", code="invalid_image", param=where) from error
    kind = (found[1] or "").lower()
    ending = _ENDINGS.get(kind) or kind.rpartition("/")[2]
    return SentFile(name if "." in name or not ending else f"{name}.{ending}", data)
