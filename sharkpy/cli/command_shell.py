"""Interface of the interactive shell to its commands."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from sharkpy.cli.answers import AnswerWriter
    from sharkpy.cli.shell_options import ShellOptions
    from sharkpy.cli.shell_session import Names, ShellSession
    from sharkpy.session.result import Row

T = TypeVar("T")


class CommandShell(Protocol):
    """Shell as its commands see it: its session, options, last statement and error, and methods that run more."""

    session: ShellSession
    names: Names
    options: ShellOptions
    answers: AnswerWriter
    last_sql: str
    last_error: BaseException | None
    is_over: bool

    def say(self, text: str) -> None:
        """Write a line of requested output."""

    def confirm(self, text: str) -> None:
        """Report what a command has changed; scripts print nothing."""

    def run_sql(self, text: str) -> bool:
        """Run statements one after the other. At the first error, show it and return False."""

    def run_script(self, text: str) -> bool:
        """Run statements, and commands each on a line of its own, up to the first error."""

    def rows_of(self, statement: str) -> list[Row]:
        """Return all rows of a statement."""

    def wait_for(self, work: Callable[[], T]) -> T:
        """Run `work` in a thread and return its result; Ctrl-C cancels it."""

    def reconnect(self) -> None:
        """Open a new session on the server."""

    def switch_logs(self, is_on: bool) -> None:
        """Show a server's log lines above the answers, or stop showing them."""
