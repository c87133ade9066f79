"""Entry point of the command `sharkpy`."""

from __future__ import annotations

import argparse
import contextlib
import gc
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from sharkpy.base.cleanup import collect_garbage_seldom
from sharkpy.base.errors import ConfigurationError, SharkError
from sharkpy.base.version import __version__
from sharkpy.cli.shell_session import add_server_options, session_settings

FORMATS = ("table", "csv", "tsv", "json", "jsonl", "markdown", "vertical", "html", "parquet", "arrow")

_COMMANDS = (
    ("demo", "a guided tour over the flights of 2013"),
    ("console", "show a console in the browser: queries, worksheets and tables"),
    ("server", "serve JDBC and Thrift clients as HiveServer2 does"),
    ("warmup", "train the caches that let Spark's JVM start in half the time"),
    ("doctor", "check this machine, or storage at a URI"),
    ("backup", "save the warehouse in a folder or storage, while others use it"),
    ("restore", "make a warehouse from a backup"),
    ("debug-stage", "run one recorded stage again, alone"),
)

_OBJECTS_OF_A_START = 250_000
"""Number of new objects after which garbage is first looked for."""
_FOLDERS = {
    "backup": "new or empty folder for the backup, or a URI, as s3://bucket/folder",
    "restore": "folder or URI of a backup",
}
"""Commands that take a folder."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code: 0, 1 with the error on standard error, 2 for a wrong
    command line.
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    options = _parser(arguments).parse_args(arguments)
    try:
        match options.command:
            case "doctor" if options.uri is not None:
                from sharkpy.cli.storage_doctor import run_storage_doctor

                return run_storage_doctor(options.uri, session_settings(options), writes=options.write)
            case "doctor":
                from sharkpy.cli.doctor import run_doctor

                return run_doctor(options.warehouse, session_settings(options))
            case "warmup":
                from sharkpy.cli.warmup import run_warmup

                return run_warmup(session_settings(options))
            case "demo":
                from sharkpy.demo.run_demo import run_demo

                return run_demo(options.warehouse, options.master)
            case "server":
                from sharkpy.cli.server import run_server

                return run_server(options, session_settings(options))
            case "console":
                from sharkpy.cli.console import run_console

                return run_console(options, session_settings(options))
            case "backup":
                from sharkpy.cli.backup import run_backup

                return run_backup(options.folder, options.warehouse, session_settings(options))
            case "restore":
                from sharkpy.cli.backup import run_restore

                return run_restore(options.folder, options.warehouse, session_settings(options))
            case "debug-stage":
                from sharkpy.cli.debug_stage import run_debug_stage

                return run_debug_stage(options)
        return _run_shell(options)
    except SharkError as error:
        from sharkpy.cli.error_text import error_text

        sys.stderr.write(error_text(error) + "\n")
        return 1
    except KeyboardInterrupt:
        return 130


def _run_shell(options: argparse.Namespace) -> int:
    from sharkpy.cli.shell_session import open_session

    text = _script(options)
    session, names = open_session(options, session_settings(options), stays=text is None)
    try:
        if text is not None:
            from sharkpy.cli.statement_shell import run_script

            return run_script(session, names, text, options.format, timing=options.timing, null_text=options.nullvalue)
        from sharkpy.cli.interactive import Shell

        return Shell(session, names, options.format, options.nullvalue).run()
    finally:
        session.stop()


def _script(options: argparse.Namespace) -> str | None:
    """Return the statements to run, or None for the interactive shell."""
    if options.execute is not None:
        return ";\n".join(options.execute)
    if options.file == "-" or (options.file is None and not sys.stdin.isatty()):
        return sys.stdin.read()
    if options.file is None:
        return None
    try:
        return Path(options.file).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ConfigurationError(f'cannot read "{options.file}": {reason}', sqlstate="58030") from None


_WAREHOUSE_HELP = "folder of the catalog and of managed tables, or a URI for these, as s3://bucket/warehouse"
_SET, _SET_HELP = ("--set", "--hiveconf"), "a setting of the session"
_METASTORE_HELP = "where tables are known: embedded (in the warehouse), hive, or a Hive metastore's thrift://host:port"


def _parser(arguments: Sequence[str] = ("server", "console")) -> argparse.ArgumentParser:
    """Make the parser. It has the options of the server and of the console if `arguments` name them."""
    parser = argparse.ArgumentParser(
        prog="sharkpy", description="HiveQL over a columnar memory store on Spark.", allow_abbrev=False
    )
    parser.add_argument("--version", action="version", version=f"sharkpy {__version__}")
    parser.add_argument("-e", dest="execute", action="append", metavar="SQL", help="run statements and leave")
    parser.add_argument("-f", dest="file", metavar="FILE", help="run the statements of a file (-: standard input)")
    parser.add_argument(*_SET, action="append", default=[], metavar="K=V", help=_SET_HELP)
    parser.add_argument(
        *("--hivevar", "--define", "-d"), action="append", default=[], metavar="K=V", help="a variable of statements"
    )
    parser.add_argument("--format", choices=FORMATS, default="table", help="how answers are written")
    parser.add_argument("--nullvalue", metavar="TEXT", help="what stands for NULL (default: what the format has)")
    parser.add_argument("--timing", action="store_true", help="rows and seconds of each statement, on standard error")
    parser.add_argument("--master", default="local[*]", help="Spark master (default: local[*])")
    parser.add_argument("--warehouse", help=_WAREHOUSE_HELP)
    parser.add_argument("--metastore", metavar="PLACE", help=_METASTORE_HELP)
    add_server_options(parser)
    parser.set_defaults(command=None, set_after=[])
    commands = parser.add_subparsers(title="commands", metavar="command")
    for name, text in _COMMANDS:
        command = commands.add_parser(name, help=text, allow_abbrev=False)
        if name == "debug-stage":
            _add_debug_arguments(command)
        if name in _FOLDERS:
            command.add_argument("folder", help=_FOLDERS[name])
        if name == "doctor":
            command.add_argument("uri", nargs="?", help="storage to check instead, such as s3://bucket/folder")
            command.add_argument("--write", action="store_true", help="also put a small object there, and delete it")
        if name == "server" and name in arguments:
            from sharkpy.cli.server import add_server_arguments

            add_server_arguments(command)
        if name == "console" and name in arguments:
            from sharkpy.cli.console import add_console_arguments

            add_console_arguments(command)
        command.set_defaults(command=name)
        # No default is set, so that an option before the command's name keeps its value.
        command.add_argument("--warehouse", default=argparse.SUPPRESS, help=_WAREHOUSE_HELP)
        command.add_argument("--master", default=argparse.SUPPRESS, help="Spark master")
        command.add_argument("--metastore", metavar="PLACE", default=argparse.SUPPRESS, help=_METASTORE_HELP)
        # A name of its own: otherwise this list would replace the one of options before the command's name.
        command.add_argument(*_SET, dest="set_after", action="append", default=[], metavar="K=V", help=_SET_HELP)
    return parser


def _add_debug_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folder", type=Path, help="folder of the records; open only those that you trust: they are unpickled"
    )
    parser.add_argument("--record", metavar="SQL", help="run statements and record their stages in the folder")
    parser.add_argument("--stage", type=int, help="the stage to run again (default: the last one that failed)")
    parser.add_argument("--task", type=int, help="its task (default: the first that failed, else 0)")
    parser.add_argument("--block", metavar="ID", help="with this block alone: the start of its id")
    parser.add_argument("--sql", action="store_true", help="print the stage's DuckDB query alone")
    parser.add_argument("--pdb", action="store_true", help="stop in the debugger before the task runs")


def run() -> NoReturn:
    """Run `main` and end the process at once. The session is closed; an orderly exit would take a tenth of a second."""
    # No garbage is looked for among the objects of the modules.
    gc.set_threshold(_OBJECTS_OF_A_START)
    collect_garbage_seldom()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda received, _: sys.exit(128 + received))
    try:
        code = main()
    except SystemExit as leave:
        code = leave.code if isinstance(leave.code, int) else 1
    with contextlib.suppress(OSError):  # the reader of a pipe may be gone
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    run()
