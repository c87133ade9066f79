"""Session of the shell: its interface, and its opening in this process or, with `-u`, on a server."""

from __future__ import annotations

import argparse
import getpass
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from sharkpy.base.errors import ConfigurationError, SharkError
from sharkpy.base.settings import HIVE, METASTORE, METASTORE_URIS

if TYPE_CHECKING:
    from pyarrow import RecordBatch

    from sharkpy.catalog.model import Table
    from sharkpy.client import ServerUrl
    from sharkpy.client.http_calls import HttpUrl
    from sharkpy.execution.statement import ProgressListener
    from sharkpy.session.result import Result
    from sharkpy.session.shark_context import SharkContext


class ShellSession(Protocol):
    """Session of the shell. One thread at a time calls `sql`; another may call `cancel`."""

    @property
    def master(self) -> str: ...

    @property
    def current_database(self) -> str: ...

    def sql(self, text: str) -> Result: ...

    def substituted(self, text: str) -> str:
        """Replace the variables in `text` by their values, as far as this side knows them."""

    def cancel(self) -> None: ...

    def stop(self) -> None: ...

    def take_console(self, console: Callable[[Table, int, Iterable[RecordBatch]], None]) -> None:
        """Show the epochs of continuous sinks TO CONSOLE by a function. The epochs of a server are not shown."""

    def add_progress_listener(self, listener: ProgressListener) -> Callable[[], None]: ...


class Names(Protocol):
    """Names for completion; empty if the session cannot list them."""

    def databases(self) -> Iterable[str]: ...

    def tables(self, database: str = "") -> Iterable[str]: ...

    def columns(self, table: str) -> Sequence[str]: ...

    def functions(self) -> Iterable[str]: ...


class LocalNames:
    """Names from the catalog of this process."""

    def __init__(self, session: SharkContext) -> None:
        self._session = session

    def databases(self) -> Iterable[str]:
        return self._session.catalog.database_names()

    def tables(self, database: str = "") -> Iterable[str]:
        try:
            return self._session.catalog.table_names(database or self._session.current_database)
        except SharkError:
            return ()

    def columns(self, table: str) -> Sequence[str]:
        database, _, name = table.replace("`", "").lower().rpartition(".")
        try:
            found = self._session.catalog.find_table(database or self._session.current_database, name)
        except SharkError:
            return ()
        return found.shown_schema.names if found else ()

    def functions(self) -> Iterable[str]:
        from sharkpy.udf.registry import names

        return names()


PASSWORD_VARIABLE = "SHARKPY_PASSWORD"


def add_server_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that describe a server. They override the URL."""
    parser.add_argument(
        "-u", "--url", metavar="URL", help="work on a server: hive2://[user@]host[:port][/database][;…], or http://…"
    )
    parser.add_argument("-n", "--user", help="user on the server")
    parser.add_argument(
        "--login-password-file",
        type=Path,
        metavar="FILE",
        help=f"file with that user's password; else {PASSWORD_VARIABLE}, the URL, or a prompt",
    )
    parser.add_argument("--tls-ca", type=Path, metavar="PEM", help="certificates that the server's is checked with")


def open_session(
    options: argparse.Namespace, settings: Mapping[str, str], *, stays: bool = False
) -> tuple[ShellSession, Names]:
    """Open the session, and a source of its names for completion. If it `stays`, continuous tables resume in it."""
    if options.url is None:
        from sharkpy.session.connect import connect

        opened = connect(options.master, options.warehouse, **settings)
        if stays:
            opened.start_streams()
        return opened, LocalNames(opened)
    from sharkpy.client import parse_url
    from sharkpy.client.http_calls import is_http_url, parse_http_url
    from sharkpy.client.server_errors import LoginError

    url = _with_login(parse_http_url(options.url) if is_http_url(options.url) else parse_url(options.url), options)
    try:
        return _open_on_server(url, settings)
    except LoginError:
        if url.password or not sys.stdin.isatty():
            raise
    return _open_on_server(replace(url, password=getpass.getpass(f"Password of {url.user}: ")), settings)


def _open_on_server(url: ServerUrl | HttpUrl, settings: Mapping[str, str]) -> tuple[ShellSession, Names]:
    from sharkpy.client import ServerUrl, connect_to
    from sharkpy.client.http_session import HttpNames, HttpSession
    from sharkpy.client.remote_session import RemoteNames

    if isinstance(url, ServerUrl):
        remote = connect_to(url, settings)
        return remote, RemoteNames(remote)
    session = HttpSession(url, settings)
    return session, HttpNames(session)


def _with_login(url: ServerUrl | HttpUrl, options: argparse.Namespace) -> ServerUrl | HttpUrl:
    """Add user, password and certificates to `url`, each from the option that gives it."""
    password = url.password
    if options.login_password_file is not None:
        password = _password_in(options.login_password_file)
    elif PASSWORD_VARIABLE in os.environ and not password:
        password = os.environ[PASSWORD_VARIABLE]
    user = options.user or url.user or getpass.getuser()
    is_tls = url.is_tls or options.tls_ca is not None
    return replace(url, user=user, password=password, is_tls=is_tls, tls_ca=options.tls_ca or url.tls_ca)


def _password_in(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").split("\n", maxsplit=1)[0]
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ConfigurationError(f'cannot read "{path}": {reason}', sqlstate="58030") from None


def session_settings(options: argparse.Namespace) -> dict[str, str]:
    """Settings given by `--set`, `--hivevar` and `--metastore`."""
    settings = dict(map(_setting, [*options.set, *options.set_after]))
    settings |= {f"hivevar:{key}": value for key, value in map(_setting, options.hivevar)}
    if options.metastore is None:
        return settings
    if options.metastore.startswith("thrift://"):
        return settings | {METASTORE.key: HIVE, METASTORE_URIS.key: options.metastore}
    return settings | {METASTORE.key: options.metastore}


def _setting(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals:
        raise ConfigurationError(f'"{text}" is not a setting', hint="write --set key=value", sqlstate="22023")
    return key.strip(), value.strip()
