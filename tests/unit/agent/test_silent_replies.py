"""Silent replies."""

from __future__ import annotations

import pytest

from openclaw_workers.agent.output.silent_replies import ReplyStream, is_silent, may_become_silent, text_to_send


@pytest.mark.parametrize(
    "text",
    ["NO_REPLY", "  NO_REPLY\n", "no_reply", "🕊️_NO_REPLY", "🕊_NO_REPLY", "🕊️ NO_REPLY", "**NO_REPLY**", "`NO_REPLY`."],
)
def test_the_token_alone_is_silent(text: str) -> None:
    assert is_silent(text)
    assert text_to_send(text) == ""


@pytest.mark.parametrize(
    "text", ["", "NO", "NO_REPLY needed here", "I say NO_REPLY.", "NO_REPLY_NOW", "NO_REPLY NO_REPLY"]
)
def test_any_other_text_is_a_reply(text: str) -> None:
    assert not is_silent(text)


def test_a_token_after_a_real_reply_is_not_sent_with_it() -> None:
    assert text_to_send("All done.\n\nNO_REPLY") == "All done."
    assert text_to_send("All done. 🕊️_NO_REPLY") == "All done."
    assert text_to_send("You asked about NO_REPLY: it is a token") == "You asked about NO_REPLY: it is a token"


@pytest.mark.parametrize("text", ["NO_REPLY", "🕊️_NO_REPLY", "**NO_REPLY**"])
def test_a_reply_that_may_be_silent_is_held_back(text: str) -> None:
    assert all(may_become_silent(text[:end]) for end in range(len(text) + 1))
    assert not may_become_silent(text + " but")
    assert not may_become_silent("Now")
    assert not may_become_silent("Yes")


@pytest.mark.parametrize(
    "text",
    [
        "NO_REPLY",
        "**NO_REPLY**",
        "NO way",
        "All done.\n\nNO_REPLY",
        "All done. 🕊️_NO_REPLY",
        "Say NO_REPLY to be silent. Or NO",
        "one\n\n* two *\n",
        "x" * 100 + " " * 100 + "NO_REPLY",
    ],
)
@pytest.mark.parametrize("size", [1, 3, 1000])
def test_the_streamed_text_is_the_sent_text(text: str, size: int) -> None:
    speech = ReplyStream()
    pieces = [speech.add(text[at : at + size]) for at in range(0, len(text), size)]
    assert "NO_REPLY" not in "".join(pieces) or "NO_REPLY" in text_to_send(text)
    assert "".join([*pieces, speech.end()]).rstrip() == text_to_send(text).rstrip()
