"""Interactive shell on a terminal."""

from __future__ import annotations

import functools
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from prompt_toolkit import PromptSession
from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
from prompt_toolkit.history import FileHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.lexers import PygmentsLexer

from sharkpy.base.errors import SharkError
from sharkpy.base.version import __version__
from sharkpy.cli.answers import Answer, AnswerWriter, show_pages
from sharkpy.cli.commands import find_command, is_command
from sharkpy.cli.completer import SharkCompleter
from sharkpy.cli.error_text import error_text
from sharkpy.cli.progress_line import ProgressBoard, run_with_progress
from sharkpy.cli.run_statements import footer
from sharkpy.cli.shell_options import ShellOptions
from sharkpy.cli.shell_session import Names, ShellSession

if TYPE_CHECKING:
    from prompt_toolkit.formatted_text import StyleAndTextTuples

    from sharkpy.session.result import Row

T = TypeVar("T")
QUIT = ("quit", "exit")
_EXPLAINED = ("select", "with", "from", "values", "insert", "(")
_EXPLAIN = {"on": "EXPLAIN\n", "analyze": "EXPLAIN ANALYZE\n"}


def state_dir() -> Path:
    """Folder for the user's history."""
    base = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(base) / "sharkpy"


class Shell:
    """Interactive shell: reads statements, runs each in a thread, writes answers; errors never end it."""

    def __init__(self, session: ShellSession, names: Names, output_format: str = "table") -> None:
        self.session = session
        self.names = names
        self.options = ShellOptions(mode=output_format)
        self.answers = AnswerWriter(self.options)
        self.last_sql = ""
        self.last_error: BaseException | None = None
        self.is_over = False
        self._board = ProgressBoard()

    def run(self) -> int:
        prompt = self._prompt_session()
        remove = self.session.add_progress_listener(self._board.update)
        self.say(f"sharkpy {__version__} on {self.session.master}; .help tells more")
        try:
            while not self.is_over:
                try:
                    text = prompt.prompt(f"{self.session.current_database}> ", prompt_continuation=_continuation)
                except KeyboardInterrupt:
                    continue
                except EOFError:
                    break
                self.handle(text)
            return 0
        finally:
            self.answers.close()
            remove()

    def say(self, text: str) -> None:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()

    def handle(self, text: str) -> None:
        """Run a typed text: a command of the shell, or statements."""
        if text.strip().rstrip(";").strip().lower() in QUIT:
            self.is_over = True
        elif is_command(text):
            self._run_command(text)
        else:
            self.run_sql(text)

    def run_script(self, text: str) -> bool:
        """Run statements, and commands each on a line of its own, up to the first error."""
        for number, piece in pieces(text):
            done = self._run_command(piece) if is_command(piece) else self.run_sql(piece, number)
            if not done or self.is_over:
                return False
        return True

    def _run_command(self, text: str) -> bool:
        try:
            command, argument = find_command(text)
            command.run(self, argument)
        except KeyboardInterrupt:
            self.say("")
            return False
        except Exception as error:  # noqa: BLE001 - the shell outlives any error
            self._report(error)
            return False
        return True

    def run_sql(self, text: str, first_line: int = 1) -> bool:
        """Run statements one after the other; False at the first error, which is shown."""
        from sharkpy.cli.client_statements import run_client_statement, statements_with_sources

        try:
            statements = list(statements_with_sources(text))
        except SharkError as error:
            self._report(error)
            return False
        for statement, line in statements:
            self.last_sql = statement
            sent = self._explained(statement)
            place = line + first_line - 1 - (sent != statement)
            started = time.perf_counter()
            try:
                if run_client_statement(self.session.substituted(statement), self.say):
                    continue
                answer = self.wait_for(functools.partial(self._answer, sent))
                seconds = time.perf_counter() - started
                if answer.pages:
                    show_pages(answer.pages)
            except Exception as error:  # noqa: BLE001 - the shell outlives any error
                self._report(error, sent, place)
                return False
            self._tell(answer, seconds)
        return True

    def wait_for(self, work: Callable[[], T]) -> T:
        """Run `work` in a thread and return its result: Ctrl-C cancels it and never breaks into a call to a server."""
        return run_with_progress(work, self.session.cancel, self._board)

    def rows_of(self, statement: str) -> list[Row]:
        """Rows of a statement, all of them."""

        def fetch() -> list[Row]:
            with self.session.sql(statement) as result:
                return result.fetchall()

        return self.wait_for(fetch)

    def _answer(self, statement: str) -> Answer:
        with self.session.sql(statement) as result:
            return self.answers.write(result, self._board.hide)

    def _explained(self, statement: str) -> str:
        is_query = statement.lstrip().lower().startswith(_EXPLAINED)
        return _EXPLAIN[self.options.explain] + statement if is_query and self.options.explain != "off" else statement

    def _tell(self, answer: Answer, seconds: float) -> None:
        if answer.is_cut:
            self.say(f"only the first {answer.num_rows:,} rows are shown; .maxrows 0 shows all")
        if self.options.timer:
            self.say(footer(answer.num_rows, seconds, self._board.rows_read))

    def _report(self, error: BaseException, statement: str = "", line: int = 1) -> None:
        self.last_error = error
        self.say(error_text(error, statement, line))

    def switch_logs(self, is_on: bool) -> None:
        """Show a server's log lines above the answers, or stop that."""
        from sharkpy.client import RemoteSession

        if not isinstance(self.session, RemoteSession):
            raise SharkError("there is no server whose log could be shown", hint="start the shell with -u")
        self.session.log = self._board.write_above if is_on else None

    def _prompt_session(self) -> PromptSession[str]:
        from pygments.lexers.sql import SqlLexer

        folder = state_dir()
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return PromptSession(
            history=FileHistory(str(folder / "history")),
            completer=SharkCompleter(self.names),
            complete_while_typing=False,
            complete_in_thread=True,
            auto_suggest=AutoSuggestFromHistory(),
            lexer=PygmentsLexer(SqlLexer),
            multiline=True,
            key_bindings=_key_bindings(),
            enable_history_search=True,
        )


def pieces(script: str) -> list[tuple[int, str]]:
    """Cut a script into commands of the shell and runs of SQL, each with the 1-based line it starts in."""
    found: list[tuple[int, str]] = []
    sql: list[str] = []
    start = 1
    for number, line in enumerate(script.split("\n"), 1):
        if is_command(line) and _is_between_statements(sql):
            found += [(start, "\n".join(sql)), (number, line)]
            sql, start = [], number + 1
        else:
            sql.append(line)
    found.append((start, "\n".join(sql)))
    return [(number, piece) for number, piece in found if piece.strip()]


def _is_between_statements(lines: list[str]) -> bool:
    from sharkpy.sql.grammar.split_statements import split_statements

    text = "\n".join(lines)
    # A word behind an open statement does not make one more; behind a finished one it does.
    return len(split_statements(text + "\nx")) == len(split_statements(text)) + 1


def is_complete(text: str) -> bool:
    """True if Enter runs the typed text."""
    stripped = text.strip()
    return not stripped or is_command(stripped) or stripped.lower() in QUIT or stripped.endswith(";")


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
