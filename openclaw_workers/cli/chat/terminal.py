"""The terminal of a chat: what was said scrolls above, and below it stays the line in which a person types.

Between the two stands what has no fixed form yet: the end of the answer that arrives, and what is waited for.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import threading
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from prompt_toolkit import PromptSession
from prompt_toolkit.application import run_in_terminal
from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
from prompt_toolkit.completion import ThreadedCompleter
from prompt_toolkit.data_structures import Size
from prompt_toolkit.filters import Condition
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.output import ColorDepth, Output
from prompt_toolkit.output.vt100 import Vt100_Output
from prompt_toolkit.styles import Style

from openclaw_workers.cli.chat.markdown import Renderer
from openclaw_workers.cli.render.text import cut_to_columns, has_colour, printable, styled

if TYPE_CHECKING:
    from prompt_toolkit.completion import Completer
    from prompt_toolkit.formatted_text import StyleAndTextTuples
    from prompt_toolkit.history import History
    from prompt_toolkit.input import Input

PROMPT = "> "
REFRESH_SECONDS = 0.5
MENU_LINES = 8
STYLE = Style.from_dict({"status": "#888888", "auto-suggestion": "#888888"})


class ChatTerminal:
    """`show`, `print` and `live` may be called from any thread."""

    def __init__(
        self,
        *,
        on_message: Callable[[str], None],
        on_interrupt: Callable[[], None],
        status: Callable[[], str],
        completer: Completer,
        history: History,
        keys: Input | None = None,
        output: Output | None = None,
    ) -> None:
        """`on_interrupt` is called for Ctrl-C while the line is empty or a turn runs; see `clear_input`."""
        self._on_message = on_message
        self._on_interrupt = on_interrupt
        self._status = status
        self._output = output or _vt100()
        self._lock = threading.Lock()
        self._changes: deque[tuple[str, str | None]] = deque()
        """Text to print, and what is then shown as arriving."""
        self._live = ""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_flushing = False
        self._session: PromptSession[str] = PromptSession(
            self._prompt,
            multiline=True,
            prompt_continuation=" " * len(PROMPT),
            completer=ThreadedCompleter(completer),
            complete_while_typing=Condition(self._is_command),
            # Otherwise the first menu would push everything up.
            reserve_space_for_menu=MENU_LINES,
            auto_suggest=AutoSuggestFromHistory(),
            history=history,
            key_bindings=self._bindings(),
            refresh_interval=REFRESH_SECONDS,
            erase_when_done=True,
            style=STYLE,
            color_depth=None if has_colour(sys.stdout) else ColorDepth.MONOCHROME,
            input=keys,
            output=self._output,
        )

    @property
    def renderer(self) -> Renderer:
        """For the columns that the terminal has now."""
        return Renderer(self._output.get_size().columns)

    def run(self) -> None:
        """Read messages until the person leaves or `leave` is called."""
        try:
            self._session.prompt(pre_run=self._begin)
        except EOFError:
            pass
        finally:
            with self._lock:
                self._loop = None
            self._write_changes()

    def leave(self) -> None:
        """End `run`. Only from a callback."""
        self._session.app.exit(exception=EOFError)

    def clear_input(self) -> bool:
        """Remove what is typed; False if there was nothing. Only from a callback."""
        had_text = bool(self._session.default_buffer.text)
        self._session.default_buffer.reset()
        return had_text

    def note(self, text: str) -> None:
        """Print a dimmed line."""
        self.print(styled(printable(text), sys.stdout, dim=True) + "\n")

    def report(self, message: str, hint: str | None) -> None:
        """Print an error."""
        plain = self.renderer.plain
        lines = [f"{styled('error:', sys.stdout, fg='red')} {plain(printable(message), hanging=' ' * 7)}"]
        lines += [f"{styled('hint:', sys.stdout, fg='cyan')} {plain(printable(hint), hanging=' ' * 6)}"] if hint else []
        self.print("".join(lines))

    def print(self, text: str) -> None:
        """Print whole lines above the input."""
        self.show(text, None)

    def live(self, text: str) -> None:
        """Show text that is still arriving, in place of the one before."""
        self.show("", text)

    def show(self, printed: str, live: str | None) -> None:
        """Print and replace what arrives in one step, so that nothing is seen twice."""
        self._changes.append((printed, live))
        with self._lock:
            # One flush at a time takes all changes, so a flood of events does not queue as many redraws.
            loop, is_due = self._loop, not self._is_flushing
            self._is_flushing = self._is_flushing or loop is not None
        if loop is None:
            self._write_changes()
        elif is_due:
            loop.call_soon_threadsafe(self._start_flush)

    def _begin(self) -> None:
        with self._lock:
            self._loop = asyncio.get_running_loop()

    def _start_flush(self) -> None:
        self._session.app.create_background_task(self._flush())

    async def _flush(self) -> None:
        """Bring all changes to the screen, also those that come meanwhile."""
        while True:
            if any(printed for printed, _ in list(self._changes)):
                # prompt_toolkit hides the input line meanwhile; otherwise the text would be printed over it.
                await run_in_terminal(self._write_changes)
            else:
                self._write_changes()
                self._session.app.invalidate()
            with self._lock:
                # Under the lock: a change that comes now either is seen here or starts a new flush.
                if not self._changes:
                    self._is_flushing = False
                    return

    def _write_changes(self) -> None:
        text = []
        while self._changes:
            printed, live = self._changes.popleft()
            text.append(printed)
            self._live = self._live if live is None else live
        if whole := "".join(text):
            self._output.write_raw(whole)
            self._output.flush()

    def _prompt(self) -> StyleAndTextTuples:
        size = self._output.get_size()
        parts: StyleAndTextTuples = []
        if self._live.strip():
            lines = self.renderer.last_lines(self._live, max(2, size.rows // 3))
            parts.append(("", "\n".join(lines) + "\n"))
        if status := self._status():
            parts.append(("class:status", cut_to_columns(printable(status), size.columns - 1) + "\n"))
        return [*parts, ("bold", PROMPT)]

    def _is_command(self) -> bool:
        return self._session.default_buffer.text.startswith("/")

    def _bindings(self) -> KeyBindings:
        bindings = KeyBindings()

        @bindings.add("enter")
        def _(event: KeyPressEvent) -> None:
            buffer = event.current_buffer
            if buffer.complete_state and buffer.complete_state.current_completion:
                buffer.complete_state = None  # take what was chosen in the menu
                return
            text = buffer.text
            buffer.reset(append_to_history=bool(text.strip()))
            if text.strip():
                self._on_message(text)

        @bindings.add("escape", "enter")
        def _(event: KeyPressEvent) -> None:
            event.current_buffer.insert_text("\n")

        @bindings.add("c-c")
        @bindings.add("<sigint>")
        def _(_: KeyPressEvent) -> None:
            self._on_interrupt()

        return bindings


def _vt100() -> Output:
    """The terminal, without asking it where its cursor is: some never answer."""
    return Vt100_Output(sys.stdout, _size, term=os.environ.get("TERM"), enable_cpr=False)


def _size() -> Size:
    columns, rows = shutil.get_terminal_size()
    return Size(rows=rows, columns=columns)
