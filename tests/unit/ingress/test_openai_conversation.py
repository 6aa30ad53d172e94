"""From the messages of an OpenAI request to what an agent reads."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from ingress.openai.conversation import BEGINNING, Conversation, Said, newest_only, with_history
from ingress.openai.errors import ApiError
from ingress.openai.front_ends import is_own_request
from ingress.openai.requests import ChatRequest, parse_request

PNG = b"\x89PNG\r\n\x1a\n rest"
PNG_URL = "data:image/png;base64," + base64.b64encode(PNG).decode()
TITLE = """### Task:
Generate a concise, 3-5 word title with an emoji summarizing the chat history.
### Output:
JSON format: { "title": "your concise title here" }
### Chat History:
<chat_history>
USER: hello
</chat_history>"""


def request(*messages: tuple[str, Any], **more: Any) -> ChatRequest:
    listed = [{"role": role, "content": content} for role, content in messages]
    return parse_request(json.dumps({"model": "openclaw", "messages": listed, **more}).encode())


def history(*messages: tuple[str, Any]) -> Conversation:
    return with_history(request(*messages).messages)


def test_the_last_message_is_answered_and_the_others_are_the_transcript() -> None:
    found = history(
        ("system", "be brief"), ("user", "a"), ("assistant", "b"), ("developer", "in French"), ("user", "c")
    )

    assert found.system == "be brief\n\nin French"
    assert found.earlier == [Said("user", "a"), Said("assistant", "b")]
    assert found.message == Said("user", "c")


def test_the_transcript_alternates_and_begins_with_the_person() -> None:
    found = history(
        ("assistant", "hi"), ("user", "a"), ("user", "b"), ("assistant", ""), ("assistant", "c"), ("user", "d")
    )

    assert found.earlier == [
        Said("user", BEGINNING),
        Said("assistant", "hi"),
        Said("user", "a\n\nb"),
        Said("assistant", "c"),
    ]


def test_in_a_session_only_the_last_message_of_the_person_counts() -> None:
    found = newest_only(request(("system", "s"), ("user", "a"), ("assistant", "b"), ("user", "c")).messages)

    assert found == Conversation("s", Said("user", "c"))


def test_what_an_earlier_message_holds_is_of_no_account_in_a_session() -> None:
    body = {"model": "m", "messages": [{"role": "tool", "content": "x"}, {"role": "user", "content": "c"}]}

    assert newest_only(parse_request(json.dumps(body).encode()).messages).message.text == "c"


def test_pictures_and_files_are_taken_from_data_urls() -> None:
    parts = [
        {"type": "text", "text": "look"},
        {"type": "image_url", "image_url": {"url": PNG_URL, "detail": "low"}},
        {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERi0="}},
    ]

    message = history(("user", parts)).message

    assert message.text == "look"
    assert [(file.name, file.content) for file in message.files] == [("image-2.png", PNG), ("a.pdf", b"%PDF-")]


@pytest.mark.parametrize(
    ("part", "code"),
    [
        ({"type": "image_url", "image_url": {"url": "http://169.254.169.254/latest"}}, "unsupported_image_url"),
        ({"type": "image_url", "image_url": {"url": "data:image/png;base64,%%%"}}, "invalid_image"),
        ({"type": "input_audio", "input_audio": {}}, "unsupported_content"),
        ({}, "unsupported_content"),
    ],
)
def test_content_that_cannot_be_used_is_refused_by_its_place(part: dict[str, Any], code: str) -> None:
    with pytest.raises(ApiError) as refused:
        history(("user", "a"), ("assistant", "b"), ("user", [part]))

    assert (refused.value.status, refused.value.code, refused.value.param) == (400, code, "messages.2.content.0")


@pytest.mark.parametrize(
    ("more", "code", "param"),
    [
        ({"tools": [{"type": "function", "function": {"name": "f"}}]}, "client_tools_unsupported", "tools"),
        ({"functions": [{"name": "f"}]}, "client_tools_unsupported", "functions"),
        ({"n": 2}, "unsupported_parameter", "n"),
        ({"response_format": {"type": "json_schema"}}, "unsupported_parameter", "response_format"),
        ({"logprobs": True}, "unsupported_parameter", "logprobs"),
        ({"modalities": ["audio"]}, "unsupported_parameter", "modalities"),
        ({"messages": []}, "invalid_request", "messages"),
        ({"messages": [{"role": "king", "content": "x"}]}, "invalid_request", "messages.0.role"),
    ],
)
def test_what_an_agent_cannot_honour_is_refused(more: dict[str, Any], code: str, param: str) -> None:
    with pytest.raises(ApiError) as refused:
        request(("user", "x"), **more)

    assert (refused.value.status, refused.value.code, refused.value.param) == (400, code, param)


def test_empty_lists_of_tools_and_sampling_settings_are_no_obstacle() -> None:
    request(("user", "x"), tools=[], n=1, temperature=0.2, response_format={"type": "text"}, max_tokens=5)


def test_calls_of_client_tools_in_the_history_are_refused() -> None:
    messages = [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]},
        {"role": "user", "content": "b"},
    ]
    with pytest.raises(ApiError) as refused:
        with_history(parse_request(json.dumps({"model": "m", "messages": messages}).encode()).messages)
    assert refused.value.code == "client_tools_unsupported"


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b'{"model": "m"}', b'{"model": "m", "messages": "x"}', b"\xff"])
def test_a_body_that_is_none_is_refused(raw: bytes) -> None:
    with pytest.raises(ApiError) as refused:
        parse_request(raw)
    assert refused.value.status == 400


def test_an_answer_cannot_be_continued() -> None:
    with pytest.raises(ApiError, match="role user"):
        history(("user", "a"), ("assistant", "b"))


@pytest.mark.parametrize(
    ("text", "is_own"),
    [
        (TITLE, True),
        ("  " + TITLE, True),
        ("### Task:\nbuy milk", False),
        ("What does ### Task: mean in <chat_history>?", False),
        ("Provide a concise, 5-word-or-less title for the conversation, using", True),
        ("hello", False),
    ],
)
def test_requests_that_a_front_end_makes_on_its_own_are_known_by_their_wording(text: str, is_own: bool) -> None:
    assert is_own_request(text) is is_own
