"""IPython magics `%sharkql` and `%sharkpy console`, and the display of its progress and rows."""

from __future__ import annotations

import contextlib
import html
import io
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, TextIO

from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import Magics, line_cell_magic, line_magic, magics_class, no_var_expand
from IPython.display import DisplayHandle, display
from IPython.terminal.interactiveshell import TerminalInteractiveShell

from sharkpy.base.errors import CancelledError, SharkError
from sharkpy.base.records import dataclass
from sharkpy.cli.error_text import error_text
from sharkpy.cli.progress_line import ProgressBoard, run_with_progress
from sharkpy.notebook.arguments import Options, bind_expressions, parse_options
from sharkpy.notebook.shown_profile import ShownProfile, last_profile
from sharkpy.session.connect import connect
from sharkpy.session.output_formats import write_html, write_lines, write_table
from sharkpy.session.shark_context import SharkContext
from sharkpy.sql.grammar.split_statements import split_statements
from sharkpy.sql.parameters import BoundText, errors_at_template
from sharkpy.values.types import Schema, arrow_schema

if TYPE_CHECKING:
    import pyarrow as pa

    from sharkpy.session.prepared_statement import PreparedStatement
    from sharkpy.session.result import Result

SHOWN_ROWS = 20


class StatementError(SharkError):
    """Error of the engine that IPython shows as one line and the place in the statement, without a traceback."""

    text = ""

    def _render_traceback_(self) -> list[str]:
        return self.text.split("\n")


@contextlib.contextmanager
def _readable_errors(statement: str, first_line: int) -> Iterator[None]:
    try:
        yield
    except SharkError as known:
        shown = StatementError(
            known.message, hint=known.hint, sqlstate=known.sqlstate, line=known.line, column=known.column
        )
        shown.text = error_text(known, statement, first_line)
        raise shown from known


@dataclass(slots=True)
class _Run:
    """Run of one statement in its own thread, so that the notebook's thread gets the interrupt."""

    session: SharkContext
    text: BoundText
    most_rows: int | None
    board: ProgressBoard
    variables: Mapping[str, object]
    prepared: PreparedStatement | None = None
    is_cancelled: bool = False

    def cancel(self) -> None:
        self.is_cancelled = True
        if self.prepared is not None:
            self.prepared.cancel()

    def answer(self) -> Answer:
        """Return the first `most_rows` rows, or all rows if it is None. Errors have their place in the template."""
        with errors_at_template(self.text):
            self.prepared = self.session.prepare(
                self.text.text, listener=self.board.update, variables=self.variables.get
            )
            if self.is_cancelled:
                self.prepared.cancel()
            with self.prepared.run() as result:
                return self._first_rows(result)

    def _first_rows(self, result: Result) -> Answer:
        left = sys.maxsize if self.most_rows is None or result.is_text else self.most_rows
        batches: list[pa.RecordBatch] = []
        for batch in result.batches():
            batches.append(batch.slice(0, left))
            if batch.num_rows > left:
                return Answer(result.schema, batches, is_more=True)
            left -= batch.num_rows
        return Answer(result.schema, batches, is_text=result.is_text)


@magics_class
class SharkMagics(Magics):
    """Magics of a notebook. The session is `ctx` of the user's namespace; `--connect` opens one."""

    shell: InteractiveShell

    def __init__(self, shell: InteractiveShell) -> None:
        super().__init__(shell)
        self._own: SharkContext | None = None

    @no_var_expand
    @line_cell_magic
    def sharkql(self, line: str, cell: str | None = None) -> Answer | None:
        """Run HiveQL in the session `ctx`.

            %sharkql [options] statement
            %%sharkql [options]

        --connect [warehouse]   make the session `ctx`, with --master and --set key=value
        -o, --out name          all rows as a pyarrow.Table in this variable
        -n, --limit rows        at most this many rows (default: 20 shown, all for --out)
        -e, --explain           show the plan instead of running

        {expression} and :name are bound as values, never as text. Interrupting the kernel ends the statement.
        """
        options = parse_options(line)
        if options.connect is not None:
            self._connect(options)
        text = options.statement if cell is None else f"{options.statement}\n{cell}".lstrip("\n")
        statements = split_statements(text)
        if not statements:
            if options.connect is None:
                raise UsageError("there is no statement")
            return None
        answer = None
        for number, (statement, first_line) in enumerate(statements, 1):
            is_last = number == len(statements)
            answer = self._run(statement, first_line, options if is_last else Options())
        if answer is None or not answer.schema.names:
            return None
        if options.out is not None:
            self._store(options.out, answer)
            return None
        return answer

    @line_magic
    def sharkpy(self, line: str) -> ShownProfile:
        """Show how a query of the session `ctx` ran: its plan, stages and decisions.

        %sharkpy console [query id]    (default: the last query that had a plan)
        """
        command, _, query_id = line.strip().partition(" ")
        if command != "console":
            raise UsageError("write %sharkpy console, or %sharkpy console followed by the id of a query")
        return last_profile(self._session(), query_id.strip())

    def disconnect(self) -> None:
        """End the session that `--connect` opened."""
        if self._own is not None:
            self._own.stop()
            if self.shell.user_ns.get("ctx") is self._own:
                del self.shell.user_ns["ctx"]
            self._own = None

    def _connect(self, options: Options) -> None:
        self.disconnect()
        settings: dict[str, Any] = options.settings
        self._own = connect(options.master, options.connect or None, **settings)
        self.shell.user_ns["ctx"] = self._own

    def _session(self) -> SharkContext:
        session = self.shell.user_ns.get("ctx")
        if not isinstance(session, SharkContext):
            raise UsageError('no session "ctx": make one with %sharkql --connect warehouse, or ctx = sharkpy.connect()')
        return session

    def _run(self, statement: str, first_line: int, options: Options) -> Answer:
        session = self._session()
        most = options.limit if options.limit is not None or options.out is not None else SHOWN_ROWS
        with _readable_errors(statement, first_line):
            bound = bind_expressions(statement, self.shell.user_ns)
            if options.explain:
                bound = bound.behind("EXPLAIN ")
            run = _Run(session, bound, most, self._board(), self.shell.user_ns)
            try:
                return run_with_progress(run.answer, run.cancel, run.board)
            except CancelledError:
                if not run.is_cancelled:
                    raise
                raise KeyboardInterrupt from None

    def _board(self) -> ProgressBoard:
        """Progress display: on a terminal the shell's line, else an output of the cell."""
        return ProgressBoard() if isinstance(self.shell, TerminalInteractiveShell) else DisplayBoard()

    def _store(self, name: str, answer: Answer) -> None:
        import pyarrow as pa

        table = pa.Table.from_batches(list(answer.batches), schema=arrow_schema(answer.schema))
        self.shell.user_ns[name] = table


@dataclass(frozen=True, slots=True)
class Answer:
    """First rows of a statement; `is_more` is True if more rows follow."""

    schema: Schema
    batches: Sequence[pa.RecordBatch]
    is_more: bool = False
    is_text: bool = False

    @property
    def num_rows(self) -> int:
        return sum(batch.num_rows for batch in self.batches)

    def __repr__(self) -> str:
        return self._written(write_lines if self.is_text else write_table) + self._note

    def _repr_html_(self) -> str:
        if self.is_text:
            return f"<pre>{html.escape(self._written(write_lines))}</pre>"
        return self._written(write_html) + (f"<p>{self._note}</p>" if self.is_more else "")

    def _written(self, write: Callable[[TextIO, Schema, Sequence[pa.RecordBatch]], object]) -> str:
        stream = io.StringIO()
        write(stream, self.schema, self.batches)
        return stream.getvalue()

    @property
    def _note(self) -> str:
        return f"only the first {self.num_rows} rows are shown; --limit shows more" if self.is_more else ""


@dataclass(slots=True)
class DisplayBoard(ProgressBoard):
    """Progress line as an output of the cell that is updated in place, and cleared at the end."""

    _handle: DisplayHandle | None = field(default=None, init=False)

    def show(self, elapsed: float) -> None:
        self._display(self.line(elapsed))

    def hide(self) -> None:
        if self._handle is not None:
            self._display("")

    def _display(self, line: str) -> None:
        shown = {"text/plain": line, "text/html": f"<code>{html.escape(line)}</code>" if line else ""}
        if self._handle is None:
            self._handle = display(shown, raw=True, display_id=True)  # type: ignore[no-untyped-call]
        else:
            self._handle.update(shown, raw=True)  # type: ignore[no-untyped-call]
