"""The interactive shell on a server, over HiveServer2's protocol and over HTTP."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sharkpy.web.server import WebServer
from tests.cli.terminal import CTRL_C, CTRL_D, ENTER, TAB, TerminalShell
from tests.client.test_remote_session import LONG
from tests.thrift.clients.served import Served
from tests.waiting import allowed


@pytest.fixture(params=["hive2", "http"])
def scheme(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def shell(scheme: str, served: Served, web: WebServer, tmp_path: Path) -> Iterator[TerminalShell]:
    url = f"{scheme}://127.0.0.1:{served.port if scheme == 'hive2' else web.port}/default"
    with TerminalShell(["-u", url], {"XDG_STATE_HOME": str(tmp_path), "PAGER": "cat"}) as opened:
        opened.until("default>")
        yield opened


def test_statements_completion_and_commands(shell: TerminalShell) -> None:
    shell.type("SELECT max(n) AS top FROM numb" + TAB)
    shell.until("ers")
    time.sleep(1.0)  # the menu shows it before it is in the line
    shell.type(";" + ENTER)
    assert "  29999 │" in shell.until("1 row in")
    shell.type("\\dt" + ENTER)
    assert "numbers" in shell.until("2 rows in")
    shell.type("\\c other" + ENTER)
    shell.until("other>")
    shell.type("SELECT nothing FROM elsewhere;" + ENTER)
    shell.until("error [42703]")
    lines = shell.until("other>").splitlines()
    assert lines[1].index("nothing") == lines[2].index("^")
    shell.type(".reconnect" + ENTER)
    shell.until("connected to")
    shell.type("SELECT x + 30 FROM elsewhere;" + ENTER)
    assert "│  37 │" in shell.until("1 row in")
    shell.until("other>")
    shell.type(CTRL_D)
    assert shell.ended() == 0


def test_progress_and_ctrl_c(shell: TerminalShell, scheme: str, served: Served) -> None:
    shell.type("SELECT count(*) AS rows_there FROM numbers;" + ENTER)
    shell.until("1 row in")
    shell.type(LONG + ";" + ENTER)
    shell.until(" tasks | " if scheme == "hive2" else "running | ")
    started = time.monotonic()
    shell.type(CTRL_C)
    shell.until("error [57014]")
    assert time.monotonic() - started < allowed(3.0)
    served.wait_until_idle()
    shell.type("SELECT 40 + 2 AS answer;" + ENTER)
    assert "│     42 │" in shell.until("1 row in")
