"""Shell without its own terminal: it runs statements and commands of the shell, one after the other.

`run_script` runs a script in it, and writes answers to standard output.
"""

from __future__ import annotations

import functools
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from sharkpy.base.errors import CancelledError, SharkError
from sharkpy.cli.answers import Answer, AnswerWriter, ShellOptions, show_pages
from sharkpy.cli.commands import BARE_WORDS, as_command, find_command, is_command, is_known_command
from sharkpy.cli.error_text import error_text
from sharkpy.cli.progress_line import ProgressBoard, run_with_progress, short_count
from sharkpy.cli.shell_session import Names, ShellSession
from sharkpy.values.visible_text import for_terminal, visible_lines

if TYPE_CHECKING:
    from sharkpy.session.result import Row

T = TypeVar("T")
_EXPLAINED = ("select", "with", "from", "values", "insert", "(")
_EXPLAIN = {"on": "EXPLAIN\n", "analyze": "EXPLAIN ANALYZE\n"}


class StatementShell(ABC):
    """Runner of texts: statements, and commands each on their own line, up to the first error.

    Subclasses decide how errors and the lines below answers reach the user.
    """

    def __init__(self, session: ShellSession, names: Names, options: ShellOptions) -> None:
        self.session = session
        self.names = names
        self.options = options
        self.answers = AnswerWriter(options)
        self.last_sql = ""
        self.last_error: BaseException | None = None
        self.is_over = False
        self.board = ProgressBoard()
        self._num_errors = 0

    @abstractmethod
    def confirm(self, text: str) -> None:
        """Report what a command has changed."""

    @abstractmethod
    def tell(self, answer: Answer, seconds: float) -> None:
        """Write the line below an answer."""

    @abstractmethod
    def show_error(self, error: BaseException, statement: str, line: int) -> None:
        """Write an error; `line` is the line of the script that the statement starts in."""

    @abstractmethod
    def write_log(self, text: str) -> None:
        """Write a line of a server's log."""

    def say(self, text: str) -> None:
        """Write a line of requested output."""
        for_terminal(sys.stdout).write(text + "\n")
        sys.stdout.flush()

    def run_script(self, text: str) -> bool:
        """Run statements, and commands each on their own line, up to the first error."""
        for number, piece in script_pieces(text):
            done = self.run_command(piece, number) if is_command(piece) else self.run_sql(piece, number)
            if not done or self.is_over:
                return done
        return True

    def run_command(self, text: str, line: int = 1) -> bool:
        """Run a command of the shell. Return False if it, or a statement that it runs, has failed."""
        before = self._num_errors
        try:
            command, argument = find_command(text)
            command.run(self, argument)
        except KeyboardInterrupt:
            self.say("")
            return False
        except Exception as error:  # noqa: BLE001 - the shell outlives any error
            self.report(error, line=line)
        return self._num_errors == before

    def run_sql(self, text: str, first_line: int = 1) -> bool:
        """Run statements one after the other. At the first error, show it and return False."""
        from sharkpy.cli.client_statements import run_client_statement, statements_with_sources

        try:
            statements = list(statements_with_sources(text))
        except SharkError as error:
            self.report(error, line=first_line)
            return False
        for statement, line in statements:
            if as_command(statement) == BARE_WORDS["quit"]:
                self.is_over = True
                return True
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
                self.report(error, sent, place)
                return False
            self.tell(answer, seconds)
        return True

    def report(self, error: BaseException, statement: str = "", line: int = 1) -> None:
        """Store an error as the last one, and show it."""
        self._num_errors += 1
        if isinstance(error, SharkError) and error.sqlstate.startswith("08") and not error.hint:
            error.hint = ".reconnect opens a session again"
        self.last_error = error
        self.show_error(error, statement, line)

    def wait_for(self, work: Callable[[], T]) -> T:
        """Run `work` in a thread and return its result. Ctrl-C cancels it, but never interrupts a call to a server."""
        return run_with_progress(work, self.session.cancel, self.board)

    def rows_of(self, statement: str) -> list[Row]:
        """Return all rows of a statement."""

        def fetch() -> list[Row]:
            with self.session.sql(statement) as result:
                return result.fetchall()

        return self.wait_for(fetch)

    def switch_logs(self, is_on: bool) -> None:
        """Show a server's log lines with the answers, or stop showing them."""
        from sharkpy.client import RemoteSession

        if not isinstance(self.session, RemoteSession):
            raise SharkError("there is no server whose log could be shown", hint="start the shell with -u hive2://…")
        self.session.log = self.write_log if is_on else None

    def reconnect(self) -> None:
        """Open a new session on the server."""
        from sharkpy.client import RemoteSession
        from sharkpy.client.http_session import HttpSession

        if not isinstance(self.session, RemoteSession | HttpSession):
            raise SharkError("there is no server to connect to", hint="start the shell with -u")
        self.wait_for(self.session.reconnect)

    def _answer(self, statement: str) -> Answer:
        with self.session.sql(statement) as result:
            answer = self.answers.write(result, self.board.hide)
            return answer if result.rows_written is None else replace(answer, num_written=result.rows_written)

    def _explained(self, statement: str) -> str:
        is_query = statement.lstrip().lower().startswith(_EXPLAINED)
        return _EXPLAIN[self.options.explain] + statement if is_query and self.options.explain != "off" else statement


def footer(answer: Answer, seconds: float, rows_read: int = 0) -> str:
    """Return the line below an answer."""
    count, written = answer.num_rows, answer.num_written
    took = f"in {seconds:.2f} s"
    if rows_read:
        took += f" ({rows_read:,} rows read, {short_count(int(rows_read / max(seconds, 0.001)))} rows/s)"
    if written is not None:
        return f"{written:,} row{'' if written == 1 else 's'} affected {took}"
    return f"done {took}" if count is None else f"{count:,} row{'' if count == 1 else 's'} {took}"


def script_pieces(script: str) -> list[tuple[int, str]]:
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
    # A word after an open statement does not add a statement; a word after a finished statement does.
    return len(split_statements(text + "\nx")) == len(split_statements(text)) + 1


_FAILED, _CANCELLED = 1, 130
"""Exit codes."""


def run_script(
    session: ShellSession,
    names: Names,
    text: str,
    output_format: str,
    *,
    timing: bool = False,
    null_text: str | None = None,
) -> int:
    """Run a script and return the exit code: 1 at the first error, which ends the script."""
    shell = ScriptShell(session, names, output_format, null_text, timing=timing)
    remove = session.add_progress_listener(shell.board.update)
    try:
        return 0 if shell.run_script(text) else shell.code
    finally:
        shell.answers.close()
        remove()


class ScriptShell(StatementShell):
    """Shell of a script: requested output goes to standard output, everything else to standard error."""

    def __init__(
        self, session: ShellSession, names: Names, output_format: str, null_text: str | None, *, timing: bool
    ) -> None:
        options = ShellOptions(output_format, null_text, max_rows=0, width=-1, pager=False, timer=timing)
        super().__init__(session, names, options)
        self.code = _FAILED

    def run_command(self, text: str, line: int = 1) -> bool:
        """Run a command of the shell. `!ls` and similar run a command of the machine, as in Hive."""
        is_statement = text.lstrip().startswith("!") and not is_known_command(text)
        return self.run_sql(text, line) if is_statement else super().run_command(text, line)

    def confirm(self, text: str) -> None:
        """Print nothing: the script's author knows what it changes."""

    def tell(self, answer: Answer, seconds: float) -> None:
        if self.options.timer:
            sys.stderr.write(f"{footer(answer, seconds, self.board.rows_read)}\n")

    def show_error(self, error: BaseException, statement: str, line: int) -> None:
        if isinstance(error, BrokenPipeError):
            return
        sys.stdout.flush()
        if isinstance(error, CancelledError):
            self.code = _CANCELLED
            sys.stderr.write("cancelled\n")
            return
        sys.stderr.write(error_text(error, statement, line) + "\n")

    def write_log(self, text: str) -> None:
        sys.stderr.write(visible_lines(text) + "\n")
