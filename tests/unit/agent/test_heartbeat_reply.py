"""What of an answer to a heartbeat is told."""

from __future__ import annotations

import pytest

from openclaw_workers.agent.output.heartbeat_reply import alert_text, has_tasks


@pytest.mark.parametrize(
    ("text", "reported"),
    [
        ("HEARTBEAT_OK", ""),
        ("**HEARTBEAT_OK**.", ""),
        ("<b>HEARTBEAT_OK</b>", ""),
        ("HEARTBEAT_OK all is well", ""),
        ("All is well. HEARTBEAT_OK", ""),
        ("HEARTBEAT_OK HEARTBEAT_OK", ""),
        ("HEARTBEAT_OK but the disk of the server is nearly full", "but the disk of the server is nearly full"),
        ("The disk of the server is nearly full. HEARTBEAT_OK!", "The disk of the server is nearly full."),
        ("The word HEARTBEAT_OK is in the middle of this", "The word HEARTBEAT_OK is in the middle of this"),
        ("short alert", "short alert"),
        ("HEARTBEAT_OKAY is another word altogether", "HEARTBEAT_OKAY is another word altogether"),
    ],
)
def test_the_token_is_stripped_at_the_edges(text: str, reported: str) -> None:
    assert alert_text(text, ack_max_chars=30) == reported


def test_the_limit_counts_what_remains() -> None:
    assert alert_text("HEARTBEAT_OK 12345", ack_max_chars=5) == ""
    assert alert_text("HEARTBEAT_OK 123456", ack_max_chars=5) == "123456"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", False),
        ("# Heading\n\n## Another\n", False),
        ("<!-- a\ncomment -->\n- [ ]\n* \n```\n```\n", False),
        ("- [ ] look at the mail", True),
        ("look", True),
    ],
)
def test_whether_the_file_asks_for_something(content: str, expected: bool) -> None:
    assert has_tasks(content) is expected
