"""Commands of the shell itself, one row each. Names start with a dot (as in DuckDB) or a backslash (as in psql).

A command that starts with a dot may be written with "!" too, as in beeline.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

from sharkpy.base.errors import ConfigurationError, did_you_mean
from sharkpy.base.parse_limits import shortened, whole_number
from sharkpy.base.records import dataclass
from sharkpy.cli.answers import DEFAULT_MAX_ROWS
from sharkpy.session.output_formats import BINARY_WRITERS, WRITERS

if TYPE_CHECKING:
    from sharkpy.cli.answers import AnswerWriter, ShellOptions
    from sharkpy.cli.shell_session import Names, ShellSession
    from sharkpy.session.result import Row

PREFIXES = (".", "\\", "!")
DEFAULT_EDITOR = "vi"
WATCH_SECONDS = 2.0
SWITCH = ("on", "off")
CLEAR_SCREEN = "\x1b[H\x1b[2J\x1b[3J"
BARE_WORDS = {"help": ".help", "?": ".help", "clear": ".clear", "exit": ".exit", "quit": ".exit"}


@dataclass(frozen=True, slots=True)
class Command:
    """Command of the shell. `run` gets the shell and the text after the name; `completes` names the kind of
    that text.
    """

    names: tuple[str, ...]
    arguments: str
    help: str
    run: Callable[[CommandShell, str], None]
    completes: str | tuple[str, ...] = ()
    """"file", "table", "database", "function", or the words themselves."""


def is_known_command(text: str) -> bool:
    """True if `text` is an existing command of the shell."""
    try:
        find_command(text)
    except ConfigurationError:
        return False
    return True


def find_command(text: str) -> tuple[Command, str]:
    """Find the command that `text` starts with, and the rest. Raise ConfigurationError if there is none."""
    name, _, argument = text.strip().rstrip(";").rstrip().partition(" ")
    wanted = "." + name[1:] if name.startswith("!") and name != "!" else name
    for command in COMMANDS:
        if name in command.names or wanted in command.names:
            return command, argument.strip()
    if text.lstrip().startswith("\\!"):
        return _LOCAL_SHELL, text.strip()[2:].strip()
    prefix = name[0]
    known = [one for command in COMMANDS for one in command.names]
    hint = did_you_mean("." + name[1:] if prefix == "!" else name, known) or "all are listed by .help"
    raise ConfigurationError(f'no command "{name}"', hint=hint, sqlstate="42601")


def is_command(text: str) -> bool:
    """True if `text` is a command of the shell, not SQL."""
    return text.lstrip().startswith(PREFIXES)


def as_command(text: str) -> str:
    """Return the command for a bare word, or for `help` with words after it. Return other text as it is."""
    bare = text.strip().rstrip(";").strip()
    first, space, rest = bare.partition(" ")
    return f".help {rest}" if space and first.lower() == "help" else BARE_WORDS.get(bare.lower(), text)


def _mode(shell: CommandShell, argument: str) -> None:
    modes = (*WRITERS, *BINARY_WRITERS)
    if not argument:
        shell.say(f"mode {shell.options.mode}; there are {', '.join(modes)}")
        return
    shell.options.mode = _one_of("output format", argument, modes)


def _timer(shell: CommandShell, argument: str) -> None:
    shell.options.timer = _switched(argument, shell.options.timer)
    shell.confirm(f"timer {_on_off(shell.options.timer)}")


def _pager(shell: CommandShell, argument: str) -> None:
    shell.options.pager = _switched(argument, shell.options.pager)
    shell.confirm(f"pager {_on_off(shell.options.pager)}")


def _expanded(shell: CommandShell, argument: str) -> None:
    is_on = _switched(argument, shell.options.mode == "vertical")
    shell.options.mode = "vertical" if is_on else "table"
    shell.confirm(f"mode {shell.options.mode}")


def _max_rows(shell: CommandShell, argument: str) -> None:
    shell.options.max_rows = _count("rows", argument, DEFAULT_MAX_ROWS, least=0)
    shell.confirm(
        f"answers are cut after {shell.options.max_rows:,} rows" if shell.options.max_rows else "all rows are shown"
    )


def _width(shell: CommandShell, argument: str) -> None:
    shell.options.width = _count("cells", argument, 0, least=-1)


def _null_value(shell: CommandShell, argument: str) -> None:
    words = _words(argument)
    shell.options.null_text = words[0] if words else None


def _explain(shell: CommandShell, argument: str) -> None:
    if argument:
        shell.options.explain = _one_of("way to explain", argument, ("on", "off", "analyze"))
    shell.confirm(f"explain {shell.options.explain}")


def _output(shell: CommandShell, argument: str) -> None:
    shell.answers.redirect(_path(argument))


def _once(shell: CommandShell, argument: str) -> None:
    path = _path(argument)
    if path is None:
        raise ConfigurationError("a file is needed", hint=".once file", sqlstate="22023")
    shell.options.once = path


def _read(shell: CommandShell, argument: str) -> None:
    path = _path(argument)
    if path is None:
        raise ConfigurationError("a file is needed", hint=".read file", sqlstate="22023")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ConfigurationError(f'cannot read "{path}": {reason}', sqlstate="58030") from None
    shell.run_script(text)


def _tables(shell: CommandShell, argument: str) -> None:
    shell.run_sql("SHOW TABLES" + _like(argument))


def _views(shell: CommandShell, argument: str) -> None:
    shell.run_sql("SHOW VIEWS" + _like(argument))


def _databases(shell: CommandShell, argument: str) -> None:
    shell.run_sql("SHOW DATABASES" + _like(argument))


def _functions(shell: CommandShell, argument: str) -> None:
    shell.run_sql("SHOW FUNCTIONS" + _like(argument))


def _describe(shell: CommandShell, argument: str) -> None:
    shell.run_sql(f"DESCRIBE {argument}" if argument else "SHOW TABLES")


def _describe_more(shell: CommandShell, argument: str) -> None:
    shell.run_sql(f"DESCRIBE FORMATTED {argument}" if argument else "SHOW TABLES")


def _schema(shell: CommandShell, argument: str) -> None:
    for name in [argument] if argument else shell.wait_for(shell.names.tables):
        rows = shell.rows_of(f"SHOW CREATE TABLE {name}")
        shell.say("\n".join(str(row[0]) for row in rows) + ";\n")


def _settings(shell: CommandShell, argument: str) -> None:
    wanted = argument.strip("*%").lower()
    lines = ["=".join(str(value) for value in row if value is not None) for row in shell.rows_of("SET -v")]
    shell.say("\n".join(line for line in lines if wanted in line.lower()) or f'no setting with "{wanted}"')


def _use(shell: CommandShell, argument: str) -> None:
    if not argument:
        shell.say(f"database {shell.session.current_database}")
        return
    shell.run_sql(f"USE {argument}")


def _watch(shell: CommandShell, argument: str) -> None:
    if not shell.last_sql:
        raise ConfigurationError("there is no statement yet to be watched", sqlstate="22023")
    try:
        seconds = float(argument or WATCH_SECONDS)
    except ValueError:
        raise ConfigurationError(f'"{argument}" is not a number of seconds', sqlstate="22023") from None
    try:
        while shell.run_sql(shell.last_sql):
            shell.say(time.strftime("%H:%M:%S") + f", every {seconds:g} s; Ctrl-C ends")
            time.sleep(max(seconds, 0.1))
    except KeyboardInterrupt:
        shell.say("")


def _edit(shell: CommandShell, argument: str) -> None:
    editor = shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or DEFAULT_EDITOR)
    with tempfile.TemporaryDirectory() as folder:
        path = _path(argument) or Path(folder) / "statement.sql"
        if not argument:
            path.write_text(shell.last_sql + "\n", encoding="utf-8")
        try:
            subprocess.run([*editor, str(path)], check=False)
        except OSError as error:
            hint = "set EDITOR to the one that you want"
            raise ConfigurationError(f"cannot start {editor[0]}: {error.strerror}", hint=hint) from None
        text = path.read_text(encoding="utf-8-sig").strip()
    if text:
        shell.say(text)
        shell.run_script(text)


def _local_shell(shell: CommandShell, argument: str) -> None:
    code = subprocess.run(argument or os.environ.get("SHELL", "/bin/sh"), shell=True, check=False).returncode
    if code:
        shell.say(f"exit code {code}")


def _logs(shell: CommandShell, argument: str) -> None:
    shell.switch_logs(_switched(argument, is_on=False))


def _error(shell: CommandShell, argument: str) -> None:  # noqa: ARG001
    if shell.last_error is None:
        shell.say("there was no error")
        return
    shell.say("".join(traceback.format_exception(shell.last_error)).rstrip())


def _help(shell: CommandShell, argument: str) -> None:
    if argument:
        shell.say(_help_of(argument))
        return
    shell.say('Statements end with ";". Enter on a complete statement runs it, Ctrl-C cancels it, Ctrl-D leaves.')
    shell.say("\n".join(map(_help_line, COMMANDS)))
    shell.say("help CREATE TABLE shows the form of that statement with an example.")


def _help_of(argument: str) -> str:
    """Return help for a command of the shell, for the statements that begin with some words, or for both."""
    from sharkpy.sql.forms import FIRST_WORDS, forms_of

    if argument.startswith(PREFIXES):
        return _help_line(find_command(argument)[0])
    forms, is_word = forms_of(argument), len(argument.split()) == 1
    lines = [_help_line(find_command(f".{argument}")[0])] if is_word and is_known_command(f".{argument}") else []
    if not forms and not lines:
        known = [*FIRST_WORDS, *(one.lstrip("".join(PREFIXES)) for command in COMMANDS for one in command.names)]
        hint = did_you_mean(argument, known) or "all commands are listed by .help"
        raise ConfigurationError(f'no command and no statement "{shortened(argument)}"', hint=hint, sqlstate="42601")
    for form in forms:
        parts = (f"{form.words}: {form.doc}", form.form, f"for example:\n{form.example};" if form.example else "")
        lines.append("\n".join(part for part in parts if part).replace("\n", "\n  "))
    return "\n\n".join(lines)


def _help_line(command: Command) -> str:
    return f"  {' '.join(command.names) + ' ' + command.arguments:<44} {command.help}"


def _clear(shell: CommandShell, argument: str) -> None:  # noqa: ARG001
    shell.say(CLEAR_SCREEN)


def _reconnect(shell: CommandShell, argument: str) -> None:  # noqa: ARG001
    shell.reconnect()
    shell.confirm(f"connected to {shell.session.master}; settings and temporary tables are a new session's")


def _quit(shell: CommandShell, argument: str) -> None:  # noqa: ARG001
    shell.is_over = True


def _like(pattern: str) -> str:
    quoted = pattern.strip("'\"").replace("\\", "\\\\").replace("'", "\\'")
    return f" LIKE '{quoted}'" if quoted else ""


def _words(argument: str) -> list[str]:
    try:
        return shlex.split(argument)
    except ValueError:
        raise ConfigurationError(f"a quote is not closed: {argument}", sqlstate="42601") from None


def _path(argument: str) -> Path | None:
    words = _words(argument)
    return Path(words[0]).expanduser() if words else None


def _switched(argument: str, is_on: bool) -> bool:
    """Return the new state of a switch: `on` or `off`, or without a word the opposite of the current state."""
    return not is_on if not argument else _one_of("switch", argument, SWITCH) == "on"


def _on_off(is_on: bool) -> str:
    return "on" if is_on else "off"


def _one_of(what: str, argument: str, known: tuple[str, ...]) -> str:
    if argument.lower() in known:
        return argument.lower()
    hint = did_you_mean(argument, known) or f"there are {', '.join(known)}"
    raise ConfigurationError(f'no {what} "{argument}"', hint=hint, sqlstate="22023")


def _count(what: str, argument: str, default: int, *, least: int) -> int:
    if not argument:
        return default
    text = argument.replace(",", "").replace("_", "")
    number = whole_number(text.removeprefix("-"))
    value = None if number is None else -number if text.startswith("-") else number
    if value is None or value < least:
        raise ConfigurationError(f'"{shortened(argument)}" is not a number of {what}', sqlstate="22023")
    return value


_MODES = (*WRITERS, *BINARY_WRITERS)
_LOCAL_SHELL = Command(("\\!",), "[command]", "run a command of this machine", _local_shell)
COMMANDS: tuple[Command, ...] = (
    Command((".mode", ".format"), "[format]", f"how answers are written: {', '.join(_MODES)}", _mode, _MODES),
    Command(
        (".timer", "\\timing", ".timing"), "[on|off]", "the line with rows and seconds below answers", _timer, SWITCH
    ),
    Command(("\\x",), "[on|off]", "a line for each column, or the table again", _expanded, SWITCH),
    Command((".maxrows",), "[n]", "rows of an answer that the terminal shows; 0: all", _max_rows),
    Command((".width",), "[n]", "cells that a table may take; 0: the terminal's; -1: all it needs", _width),
    Command((".nullvalue",), "[text]", "what stands for NULL; without a text what the format has", _null_value),
    Command((".pager",), "[on|off]", "long answers go through $PAGER", _pager, SWITCH),
    Command(
        (".output", "\\o"),
        "[file]",
        "answers go to a file, in the format of its name; back without one",
        _output,
        "file",
    ),
    Command((".once",), "file", "the next answer alone goes to a file", _once, "file"),
    Command((".read", "\\i"), "file", "run the statements and commands of a file", _read, "file"),
    Command((".tables", "\\dt"), "[pattern]", "tables of the current database", _tables, "table"),
    Command(("\\dv", ".views"), "[pattern]", "views", _views, "table"),
    Command(("\\d", ".describe"), "[table]", "columns of a table, or the tables", _describe, "table"),
    Command(("\\d+",), "[table]", "all about a table", _describe_more, "table"),
    Command((".schema",), "[table]", "the statement that makes a table, or all tables", _schema, "table"),
    Command((".databases", "\\l"), "[pattern]", "databases", _databases, "database"),
    Command(("\\c", ".use"), "[database]", "change the database", _use, "database"),
    Command((".functions", "\\df"), "[pattern]", "functions", _functions, "function"),
    Command((".settings",), "[text]", "settings, with what they mean", _settings),
    Command((".explain",), "[on|off|analyze]", "plans instead of answers", _explain, ("on", "off", "analyze")),
    Command(("\\watch", ".watch"), "[seconds]", "run the last statement again and again", _watch),
    Command(("\\e", ".edit"), "[file]", "edit the last statement in $EDITOR and run it", _edit, "file"),
    Command((".logs",), "[on|off]", "the log of a server while statements run", _logs, SWITCH),
    Command(("\\errverbose", ".error"), "", "the last error with its stack", _error),
    _LOCAL_SHELL,
    Command((".clear",), "", "clear the screen", _clear),
    Command((".reconnect",), "", "open the session on a server again", _reconnect),
    Command((".help", "\\?", "\\h"), "[command or statement]", "this list, or the form of a statement", _help),
    Command((".exit", ".quit", "\\q", ".q"), "", "leave", _quit),
)
"""Commands in the order of the help."""


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
