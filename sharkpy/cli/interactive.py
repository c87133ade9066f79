"""The interactive shell."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from prompt_toolkit import PromptSession
from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
from prompt_toolkit.history import FileHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.lexers import PygmentsLexer

from sharkpy import __version__
from sharkpy.cli.completer import SharkCompleter
from sharkpy.cli.error_text import error_text
from sharkpy.cli.progress_line import ProgressBoard, run_with_progress
from sharkpy.cli.run_statements import footer, run_statement, writer_of
from sharkpy.errors import SharkError

if TYPE_CHECKING:
    from prompt_toolkit.formatted_text import StyleAndTextTuples

    from sharkpy.session import SharkContext

QUIT = ("quit", "exit", "!quit", "!exit", "!q", "\\q")
HELP = """\
Statements end with ";". Enter on a complete statement runs it, Ctrl-C cancels it, Ctrl-D leaves.
  !format table|csv|tsv|json|markdown|vertical   how answers are written
  !timing on|off                                 the line after each answer
  !tables                                        tables of the current database
  !help, !quit
"""


def state_dir() -> Path:
    """The user's folder for the history."""
    base = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(base) / "sharkpy"


class Shell:
    """Reads statements, runs each in a thread, writes answers; errors never end it."""

    def __init__(self, context: SharkContext, output_format: str) -> None:
        self._context = context
        self._format = output_format
        self._timing = True
        self._board = ProgressBoard()

    def run(self) -> int:
        session = self._prompt_session()
        remove = self._context.add_progress_listener(self._board.update)
        sys.stdout.write(f"sharkpy {__version__} on {self._context.master}; !help tells more\n")
        try:
            while True:
                try:
                    text = session.prompt(f"{self._context.current_database}> ", prompt_continuation=_continuation)
                except KeyboardInterrupt:
                    continue
                except EOFError:
                    return 0
                if text.strip().rstrip(";").strip().lower() in QUIT:
                    return 0
                self.handle(text)
        finally:
            remove()

    def handle(self, text: str) -> None:
        """Run what was typed: a ! command or statements."""
        from sharkpy.sql.split_statements import split_statements

        stripped = text.strip()
        if stripped.startswith("!"):
            self._shell_command(stripped[1:].rstrip(";"))
            return
        for statement, line in split_statements(text):
            started = time.perf_counter()
            try:
                count = run_with_progress(lambda sql=statement: self._answer(sql), self._context.cancel, self._board)  # type: ignore[misc]
            except Exception as error:  # noqa: BLE001 - the shell outlives any error
                sys.stdout.write(error_text(error, statement, line) + "\n")
                return
            if self._timing:
                sys.stdout.write(footer(count, time.perf_counter() - started) + "\n")

    def _answer(self, statement: str) -> int | None:
        return run_statement(self._context, statement, self._format, sys.stdout, self._board.hide)

    def _shell_command(self, text: str) -> None:
        match text.split():
            case ["format", name]:
                try:
                    self._format = writer_of(name)
                except SharkError as error:
                    sys.stdout.write(error_text(error) + "\n")
            case ["timing", ("on" | "off") as state]:
                self._timing = state == "on"
            case ["tables"]:
                self.handle("SHOW TABLES")
            case _:
                sys.stdout.write(HELP)

    def _prompt_session(self) -> PromptSession[str]:
        from pygments.lexers.sql import SqlLexer

        folder = state_dir()
        folder.mkdir(parents=True, exist_ok=True)
        return PromptSession(
            history=FileHistory(str(folder / "history")),
            completer=SharkCompleter(self._context),
            complete_while_typing=False,
            complete_in_thread=True,
            auto_suggest=AutoSuggestFromHistory(),
            lexer=PygmentsLexer(SqlLexer),
            multiline=True,
            key_bindings=_key_bindings(),
            enable_history_search=True,
        )


def is_complete(text: str) -> bool:
    """Whether Enter runs what was typed."""
    stripped = text.strip()
    return not stripped or stripped.startswith("!") or stripped.lower() in QUIT or stripped.endswith(";")


def _key_bindings() -> KeyBindings:
    bindings = KeyBindings()

    @bindings.add("enter")
    def _enter(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if is_complete(buffer.text):
            buffer.validate_and_handle()
        else:
            buffer.insert_text("\n")

    return bindings


def _continuation(width: int, line_number: int, wrap_count: int) -> StyleAndTextTuples:  # noqa: ARG001
    return [("", "> ".rjust(width))]
