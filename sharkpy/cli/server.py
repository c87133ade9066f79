"""`sharkpy server`: HiveServer2 in the foreground, until SIGTERM or Ctrl-C."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import gc
import getpass
import logging
import resource
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sharkpy.base.cleanup import collect_garbage_seldom
from sharkpy.base.errors import ConfigurationError, did_you_mean
from sharkpy.base.secrets import redacted
from sharkpy.base.settings import HISTORY_SAVED, Setting
from sharkpy.thrift.config import AUTHENTICATIONS, Limits, ServerConfig

if TYPE_CHECKING:
    from sharkpy.thrift.guard import StatementBoard
    from sharkpy.thrift.server import HiveServer
    from sharkpy.web.server import WebServer

_LOOK_SECONDS = 0.2
_FILES = 1 << 16
_WEB_PORT_ABOVE = 2


def add_server_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: 127.0.0.1)")
    parser.add_argument("--port", type=int, default=10_000, help="default: 10000; 0: a free one")
    parser.add_argument(
        "--web-port",
        type=int,
        metavar="PORT",
        help="of the console for browsers (default: two above --port); 0: a free one, -1: no console",
    )
    parser.add_argument(
        "--web-host",
        dest="web_hosts",
        action="append",
        default=[],
        metavar="NAME",
        help="a name of this machine by which browsers reach the console",
    )
    parser.add_argument("--http-path", default="cliservice", metavar="PATH", help="of requests over HTTP")
    parser.add_argument("--auth", choices=AUTHENTICATIONS, default="none", help="how clients log in (default: none)")
    parser.add_argument("--password-file", type=Path, metavar="FILE", help="users and hashes, for --auth password")
    parser.add_argument("--set-password", metavar="USER", help="ask for a user's password, write it there, and leave")
    parser.add_argument("--ldap-url", default="", metavar="URL", help="ldaps://host[:port], for --auth ldap")
    parser.add_argument("--ldap-user-pattern", default="{user}", metavar="DN", help="such as uid={user},ou=people,dc=…")
    parser.add_argument("--custom-auth", default="", metavar="MODULE:FUNCTION", help="of (user, password) -> bool")
    parser.add_argument("--tls-cert", type=Path, metavar="FILE", help="certificate chain, PEM")
    parser.add_argument("--tls-key", type=Path, metavar="FILE", help="its key, PEM")
    parser.add_argument(
        "--allow-unsafe",
        dest="allows_unsafe",
        action="store_true",
        help="listen beyond loopback without authentication",
    )
    parser.add_argument(
        "--allow-code",
        dest="allows_code",
        action="store_true",
        help="sessions may bring functions, JARs and scripts, which do what you may do",
    )
    parser.add_argument(
        "--allow-connections",
        dest="allows_connections",
        action="store_true",
        help="sessions may make streams that connect to addresses which this machine reaches",
    )
    parser.add_argument(
        "--location-folder",
        dest="location_folders",
        action="append",
        default=[],
        metavar="DIR|URI",
        help="where LOCATION, LOAD DATA and queries of clients may point beside the warehouse",
    )
    parser.add_argument(
        "--admin",
        dest="admins",
        action="append",
        default=[],
        metavar="USER",
        help="a user who finds a place if others have taken all sessions and statements",
    )
    parser.add_argument(
        "--limit",
        action="append",
        default=[],
        metavar="NAME=N",
        help=f"one of {', '.join(one.name for one in dataclasses.fields(Limits))}",
    )
    parser.add_argument("--log-level", default="info", choices=("debug", "info", "warning", "error"))


class LogLines(logging.Formatter):
    """Format of log lines, which removes secrets that messages and tracebacks quote."""

    def format(self, record: logging.LogRecord) -> str:
        return redacted(super().format(record))


def _quiet_py4j() -> None:
    """Keep Py4J's stack traces out of the log: it logs every connection that ends, partly by the root logger. A failed
    statement has its own error, and a lost JVM its own line.
    """
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    logging.getLogger().addFilter(lambda record: "/py4j/" not in record.pathname)


def run_server(options: argparse.Namespace, settings: dict[str, str]) -> int:
    config = _config(options)
    if options.set_password:
        return _set_password(config.password_file, options.set_password)
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(LogLines("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=options.log_level.upper(), handlers=[handler])
    _quiet_py4j()
    _raise_file_limit()
    from sharkpy.thrift.guard import StatementBoard, guarded

    # Given settings follow, and may override these.
    settings = {HISTORY_SAVED.key: "true", **settings}
    board = StatementBoard()
    with guarded(config.limits, board) as guard:
        _serve(options, settings, config, guard, board)
    return 0


def _serve(
    options: argparse.Namespace, settings: dict[str, str], config: ServerConfig, guard: int, board: StatementBoard
) -> None:
    """Serve until a signal arrives and the running statements have ended."""
    from sharkpy.session.connect import connect
    from sharkpy.thrift.row_sets import COLUMNAR_SINCE, encode_row_set
    from sharkpy.thrift.server import HiveServer

    with connect(options.master, options.warehouse, **settings) as session:
        server = HiveServer(session, config, board)
        server.heartbeat.guard = guard
        # This is a plain list: the interrupted code may hold a lock that the handler would need.
        received: list[int] = []

        def end(number: int, _: Any) -> None:
            """Drain at the first signal; stop at once at the next."""
            if received:
                server.hurry()
            received.append(number)

        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, end)
        # Load everything that the first use would load, before the first client connects.
        answer = session.sql("SELECT 1, ''")
        encode_row_set(list(answer.batches()), answer.schema, 0, COLUMNAR_SINCE)
        share_interpreter()
        with _serving(server) as web:
            session.streams.start()
            console = f", console {web.url}" if web is not None else ""
            sys.stdout.write(
                f"sharkpy server listens on {config.host}:{server.port}, "
                f"warehouse {session.catalog.warehouse_dir}{console}\n"
            )
            sys.stdout.flush()
            while not received:
                time.sleep(_LOOK_SECONDS)
            sys.stdout.write("stopping\n")
            sys.stdout.flush()
            server.stop()


@contextlib.contextmanager
def _serving(server: HiveServer) -> Iterator[WebServer | None]:
    """Start a server and, if it has a port, the web server over it, which is stopped at the end of the context."""
    if server.config.web_port < 0:
        server.start()
        yield None
        return
    from sharkpy.web.server import serving

    with serving(server) as web:
        yield web


def _raise_file_limit() -> None:
    """Raise the limit on open files to the maximum: clients, blocks and data files are some hundred each."""
    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _FILES if most == resource.RLIM_INFINITY else min(_FILES, most)
    if now < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))


def _config(options: argparse.Namespace) -> ServerConfig:
    given = {one.name: getattr(options, one.name) for one in dataclasses.fields(ServerConfig) if one.name != "limits"}
    given["location_folders"] = tuple(options.location_folders)
    given["admins"] = tuple(options.admins)
    given["web_hosts"] = tuple(options.web_hosts)
    if options.web_port is None:
        # Two servers with different ports do not compete for the console's port.
        given["web_port"] = options.port + _WEB_PORT_ABOVE if options.port else 0
    return ServerConfig(**given, limits=_limits(options.limit))


def _limits(given: list[str]) -> Limits:
    defaults = Limits()
    known = {one.name for one in dataclasses.fields(defaults)}
    values: dict[str, Any] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or name not in known:
            hint = did_you_mean(name, known) or "write --limit name=number"
            raise ConfigurationError(f'"{text}" is not a limit', hint=hint, sqlstate="22023")
        values[name] = Setting(f"the limit {name}", getattr(defaults, name), "").parse(value)
    return dataclasses.replace(defaults, **values)


def _set_password(path: Path | None, user: str) -> int:
    from sharkpy.thrift.auth.password_file import set_password

    if path is None:
        raise ConfigurationError("--set-password needs --password-file")
    password = getpass.getpass(f"password of {user}: ") if sys.stdin.isatty() else sys.stdin.readline().rstrip("\n")
    set_password(path, user, password)
    return 0


_SWITCH_SECONDS = 0.001
"""Longest time that one statement's Python works while another waits for the interpreter. The default is 0.005: a short
statement, with some hundred waits, would be slow next to a long one.
"""


def share_interpreter() -> None:
    """Keep statements of one thread from delaying other threads for long. Call it after all modules are imported."""
    sys.setswitchinterval(_SWITCH_SECONDS)
    gc.collect()
    gc.freeze()
    collect_garbage_seldom()
