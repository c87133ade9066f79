"""Interactive shell on a terminal. It also shows the epochs of continuous sinks TO CONSOLE."""

from __future__ import annotations

import io
import shutil
from collections.abc import Iterable
from typing import TYPE_CHECKING

from prompt_toolkit import PromptSession
from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
from prompt_toolkit.history import FileHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.lexers import PygmentsLexer
from prompt_toolkit.patch_stdout import patch_stdout

from sharkpy.base.secrets import redacted
from sharkpy.base.users import user_state_folder
from sharkpy.base.version import __version__
from sharkpy.cli.answers import Answer, ShellOptions
from sharkpy.cli.commands import as_command, is_command
from sharkpy.cli.completer import SharkCompleter
from sharkpy.cli.error_text import error_text
from sharkpy.cli.shell_session import Names, ShellSession
from sharkpy.cli.statement_shell import StatementShell, footer
from sharkpy.session.output_formats import Look, write_table

if TYPE_CHECKING:
    import pyarrow as pa
    from prompt_toolkit.formatted_text import StyleAndTextTuples

    from sharkpy.catalog.model import Table


class TypedTexts(FileHistory):
    """History of typed texts. Its file contains no secrets."""

    def store_string(self, string: str) -> None:
        super().store_string(redacted(string))


class Shell(StatementShell):
    """Interactive shell: it reads statements, runs each in a thread and writes answers. Errors do not end the shell."""

    def __init__(
        self, session: ShellSession, names: Names, output_format: str = "table", null_text: str | None = None
    ) -> None:
        super().__init__(session, names, ShellOptions(output_format, null_text))

    def run(self) -> int:
        prompt = self._prompt_session()
        self.session.take_console(self.show_epoch)
        remove = self.session.add_progress_listener(self.board.update)
        self.say(f"sharkpy {__version__} on {self.session.master}; .help tells more")
        try:
            while not self.is_over:
                try:
                    with patch_stdout(raw=True):
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

    def show_epoch(self, sink: Table, number: int, batches: Iterable[pa.RecordBatch]) -> None:
        """Write the rows of a continuous sink TO CONSOLE between the statements."""
        if text := epoch_text(sink, number, batches):
            self.write_log(text)

    def handle(self, text: str) -> None:
        """Run typed text: a command of the shell, or statements."""
        text = as_command(text)
        if is_command(text):
            self.run_command(text)
        else:
            self.run_sql(text)

    def confirm(self, text: str) -> None:
        self.say(text)

    def tell(self, answer: Answer, seconds: float) -> None:
        if answer.is_cut:
            self.say(f"only the first {answer.num_rows:,} rows are shown; .maxrows 0 shows all")
        if self.options.timer:
            self.say(footer(answer, seconds, self.board.rows_read))

    def show_error(self, error: BaseException, statement: str, line: int) -> None:
        self.say(error_text(error, statement, line))

    def write_log(self, text: str) -> None:
        self.board.write_above(text)

    def _prompt_session(self) -> PromptSession[str]:
        from pygments.lexers.sql import SqlLexer

        folder = user_state_folder()
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return PromptSession(
            history=TypedTexts(str(folder / "history")),
            completer=SharkCompleter(self.names),
            complete_while_typing=False,
            complete_in_thread=True,
            auto_suggest=AutoSuggestFromHistory(),
            lexer=PygmentsLexer(SqlLexer),
            multiline=True,
            key_bindings=_key_bindings(),
            enable_history_search=True,
        )


def is_complete(text: str) -> bool:
    """True if Enter runs the typed text."""
    stripped = text.strip()
    return not stripped or is_command(as_command(stripped)) or stripped.endswith(";")


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


MOST_ROWS = 20


def epoch_text(sink: Table, number: int, batches: Iterable[pa.RecordBatch]) -> str:
    """Return the first rows of an epoch and the number of its rows, or an empty text for an epoch without rows."""
    shown: list[pa.RecordBatch] = []
    num_rows = 0
    for batch in batches:
        if num_rows < MOST_ROWS:
            shown.append(batch.slice(0, MOST_ROWS - num_rows))
        num_rows += batch.num_rows
    if not num_rows:
        return ""
    rows = f"{num_rows:,} row{'' if num_rows == 1 else 's'}"
    cut = f", of which {MOST_ROWS} are shown" if num_rows > MOST_ROWS else ""
    table = io.StringIO()
    write_table(table, sink.schema, shown, Look(width=shutil.get_terminal_size().columns))
    return f"{sink.qualified_name}, epoch {number}: {rows}{cut}\n{table.getvalue().rstrip()}"
