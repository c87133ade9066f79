"""`sharkpy console`: the console of a session of its own in the browser, until Ctrl-C."""

from __future__ import annotations

import argparse
import contextlib
import html
import os
import signal
import sys
import tempfile
import webbrowser
from collections.abc import Callable, Iterator
from pathlib import Path

from sharkpy.base.settings import HISTORY_SAVED

_REDIRECT = '<!doctype html><meta charset="utf-8"><title>sharkpy</title><meta http-equiv="refresh" content="0; url={}">'


def add_console_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--no-browser", dest="browser", action="store_false", help="only print the link")
    parser.add_argument("--web-port", type=int, default=0, metavar="PORT", help="of the console (default: a free one)")


def run_console(options: argparse.Namespace, settings: dict[str, str]) -> int:
    from sharkpy.cli.server import share_interpreter
    from sharkpy.session.connect import connect
    from sharkpy.web.own_console import own_console

    # Given settings follow, and may override this.
    settings = {HISTORY_SAVED.key: "true", **settings}
    with connect(options.master, options.warehouse, **settings) as session:
        session.start_streams()
        share_interpreter()
        with own_console(session, options.web_port) as new_link:
            _say(f"sharkpy console, warehouse {session.catalog.warehouse_dir}\n  {new_link()}")
            with _opened(new_link) if options.browser else contextlib.nullcontext():
                wait_at_terminal(new_link)
    return 0


def wait_at_terminal(new_link: Callable[[], str]) -> None:
    """Wait for Ctrl-C. At a terminal, Enter prints a new link, and Ctrl-D ends the wait, too."""
    with contextlib.suppress(KeyboardInterrupt):
        if sys.stdin.isatty():
            _say("Ctrl-C ends the console, and Enter shows a link for another browser.")
            # A console in the background gets an error when it reads, instead of being stopped.
            signal.signal(signal.SIGTTIN, signal.SIG_IGN)
            with contextlib.suppress(OSError):
                while sys.stdin.readline():
                    _say(f"  {new_link()}")
                return
        while True:
            signal.pause()


@contextlib.contextmanager
def _opened(new_link: Callable[[], str]) -> Iterator[None]:
    """Open a browser, if there is a graphical one. Other users see the arguments of programs.

    So the browser gets a file that only its owner can read, and the file has the link.
    """
    try:
        browser = webbrowser.get()
    except webbrowser.Error:
        yield
        return
    if type(browser) is webbrowser.GenericBrowser and not os.environ.get("BROWSER"):
        # It shows pages in the terminal, without scripts.
        yield
        return
    with tempfile.NamedTemporaryFile("w", prefix="sharkpy-console-", suffix=".html") as file:
        file.write(_REDIRECT.format(html.escape(new_link())))
        file.flush()
        browser.open(Path(file.name).as_uri())
        yield


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
