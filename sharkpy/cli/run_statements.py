"""Run of a script: its statements and commands one after the other, with their answers written."""

from __future__ import annotations

import sys

from sharkpy.base.errors import CancelledError
from sharkpy.cli.answers import Answer
from sharkpy.cli.commands import is_known_command
from sharkpy.cli.error_text import error_text
from sharkpy.cli.shell_options import ShellOptions
from sharkpy.cli.shell_session import Names, ShellSession
from sharkpy.cli.statement_shell import StatementShell, footer
from sharkpy.values.visible_text import visible_lines

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
