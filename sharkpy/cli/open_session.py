"""Session for the command line: in this process, or on a server with `-u`."""

from __future__ import annotations

import argparse
import getpass
import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from sharkpy.base.errors import ConfigurationError

if TYPE_CHECKING:
    from sharkpy.cli.shell_session import Names, ShellSession
    from sharkpy.client import ServerUrl

PASSWORD_VARIABLE = "SHARKPY_PASSWORD"


def add_server_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that describe a server. They override the URL."""
    parser.add_argument(
        "-u", "--url", metavar="URL", help="work on a server: hive2://[user@]host[:port][/database][;…]"
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
        from sharkpy.cli.shell_session import LocalNames
        from sharkpy.session.connect import connect

        opened = connect(options.master, options.warehouse, **settings)
        if stays:
            opened.start_streams()
        return opened, LocalNames(opened)
    from sharkpy.client import connect_to, parse_url
    from sharkpy.client.channel import LoginError
    from sharkpy.client.remote_names import RemoteNames

    url = _with_login(parse_url(options.url), options)
    try:
        session = connect_to(url, settings)
    except LoginError:
        if url.password or not sys.stdin.isatty():
            raise
        session = connect_to(replace(url, password=getpass.getpass(f"Password of {url.user}: ")), settings)
    return session, RemoteNames(session)


def _with_login(url: ServerUrl, options: argparse.Namespace) -> ServerUrl:
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
