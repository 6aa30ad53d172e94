"""The terminal of a chat, with typed keys and a screen that a terminal emulator draws."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from io import StringIO

import pyte
import pytest
from prompt_toolkit.data_structures import Size
from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.output.vt100 import Vt100_Output

from openclaw_workers.cli.chat.output import ChatOutput
from openclaw_workers.cli.chat.terminal import ChatTerminal
from openclaw_workers.cli.chat.words import Words
from tests.support.waiting import eventually

ROWS, COLUMNS = 24, 60


class Drawn(StringIO):
    """Output that is drawn on a screen."""

    def __init__(self) -> None:
        super().__init__()
        self.screen = pyte.HistoryScreen(COLUMNS, ROWS)
        self._stream = pyte.Stream(self.screen)
        self._lock = threading.Lock()

    def write(self, text: str) -> int:
        with self._lock:
            self._stream.feed(text.replace("\n", "\r\n"))
        return len(text)

    @property
    def lines(self) -> list[str]:
        with self._lock:
            shown = [line.rstrip() for line in self.screen.display]
        while shown and not shown[-1]:
            shown.pop()
        return shown


class Typist:
    """A terminal in a thread, and what it was told."""

    def __init__(self, keys: PipeInput) -> None:
        self.keys = keys
        self.drawn = Drawn()
        self.messages: list[str] = []
        self.interrupts = 0
        self.status = ""
        words = Words([{"name": "status", "aliases": [], "usage": "/status", "summary": "what it does"}])
        self.terminal = ChatTerminal(
            on_message=self._take,
            on_interrupt=self._interrupt,
            status=lambda: self.status,
            completer=words,
            history=InMemoryHistory(["an older one"]),
            keys=keys,
            output=Vt100_Output(self.drawn, lambda: Size(ROWS, COLUMNS), term="xterm", enable_cpr=False),
        )
        self.thread = threading.Thread(target=self.terminal.run)

    def start(self) -> None:
        self.thread.start()
        self.see(lambda lines: lines[-1] == ">")

    def type(self, keys: str) -> None:
        self.keys.send_text(keys)

    def see(self, is_there: Callable[[list[str]], object]) -> None:
        eventually(lambda: bool(self.drawn.lines) and is_there(self.drawn.lines), within=20)

    def _take(self, text: str) -> None:
        self.messages.append(text)
        if text == "/exit":
            self.terminal.leave()

    def _interrupt(self) -> None:
        self.interrupts += 1
        self.terminal.clear_input()


@pytest.fixture
def typist() -> Iterator[Typist]:
    with create_pipe_input() as keys:
        typist = Typist(keys)
        yield typist
        if typist.thread.is_alive():
            typist.type("\x15\x04")  # empties the line and leaves
            typist.thread.join(20)
        assert not typist.thread.is_alive()


def test_what_is_printed_stands_above_the_line_that_is_typed(typist: Typist) -> None:
    typist.terminal.print("before the start\n")
    typist.start()
    typist.type("half a mess")
    typist.see(lambda lines: lines[-1] == "> half a mess")
    typist.terminal.print("something happened\n")
    typist.see(lambda lines: lines == ["before the start", "something happened", "> half a mess"])
    typist.type("age\r")
    eventually(lambda: typist.messages == ["half a message"], within=20)


def test_an_answer_arrives_below_what_is_printed_and_is_rendered_at_last(typist: Typist) -> None:
    typist.start()
    typist.status = "waiting for gpt-5, 2 s"
    output = ChatOutput(typist.terminal)
    output.write("A *first* paragraph.\n\nThe sec")
    typist.see(lambda lines: lines == ["A first paragraph.", "The sec", "waiting for gpt-5, 2 s", ">"])
    output.line("· exec ls ...")
    output.write("ond\x1b]0;owned\x07 one")
    typist.status = ""
    output.end_text()
    typist.see(lambda lines: lines == ["A first paragraph.", "· exec ls ...", "", "The second one", ">"])


def test_a_pasted_block_and_a_line_break_are_one_message(typist: Typist) -> None:
    typist.start()
    typist.type("\x1b[200~several\rlines\x1b[201~\x1b\rmore\r")
    eventually(lambda: typist.messages == ["several\nlines\nmore"], within=20)


def test_empty_lines_are_no_messages_and_earlier_ones_come_back(typist: Typist) -> None:
    typist.start()
    typist.type("\r \r")

    def is_back() -> bool:
        typist.type("\x1b[A")
        return typist.drawn.lines[-1] == "> an older one"

    eventually(is_back, within=20)
    typist.type("\r")
    eventually(lambda: typist.messages == ["an older one"], within=20)


def test_control_c_is_passed_on_and_control_d_leaves(typist: Typist) -> None:
    typist.start()
    typist.type("unsent\x03")
    eventually(lambda: typist.interrupts == 1, within=20)
    typist.type("\x04")
    typist.thread.join(20)
    assert not typist.thread.is_alive()
    assert typist.messages == []


def test_tab_completes_a_command_and_enter_takes_it_before_it_is_sent(typist: Typist) -> None:
    typist.start()
    typist.type("/stat")
    typist.see(lambda lines: "what it does" in lines[-1])
    typist.type("\t")
    typist.see(lambda lines: "> /status" in lines)
    typist.type("\r")
    typist.see(lambda lines: lines[-1] == "> /status")  # the menu has closed
    assert typist.messages == []
    typist.type("\r")
    eventually(lambda: typist.messages == ["/status"], within=20)
