"""`sharkpy console`: links that log one browser in, files of the current folder, and the end."""

from __future__ import annotations

import os
import re
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pexpect
import psutil
import pytest

import sharkpy
from sharkpy.base.errors import ConfigurationError
from sharkpy.thrift.config import ServerConfig
from sharkpy.web.own_console import own_console
from tests.waiting import until
from tests.web.conftest import Serve

COMMAND = [sys.executable, "-m", "sharkpy.cli.main", "--master", "local[2]", "--warehouse", "w", "console"]
LINK_TEXT = re.compile(r"http://127\.0\.0\.1:\d+/open\?token=[\w-]{43}")


class Console:
    """A console as a process of its own, in `folder`."""

    def __init__(self, folder: Path, *options: str, **environment: str) -> None:
        self.process = subprocess.Popen(
            [*COMMAND, *options],
            cwd=folder,
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        self.first_line = self.process.stdout.readline()
        found = LINK_TEXT.search(self.process.stdout.readline())
        assert found is not None, self.process.communicate()[1]
        self.link = found[0]

    def end(self) -> str:
        """End it by Ctrl-C, and return its standard error."""
        self.process.send_signal(signal.SIGINT)
        _, errors = self.process.communicate(timeout=30)
        assert self.process.returncode == 0, errors
        return errors


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "people.csv").write_text("name,age\nAda,36\nBob,\n")
    return tmp_path


def logged_in(link: str) -> httpx.Client:
    """Return a browser that has followed a link."""
    browser = httpx.Client(base_url=link.partition("/open")[0], timeout=30)
    answer = browser.get(link)
    assert (answer.status_code, answer.headers["Location"]) == (303, "./")
    assert {"HttpOnly", "SameSite=strict"} <= set(answer.headers["Set-Cookie"].split("; "))
    browser.headers["X-CSRF-Token"] = browser.get("/api/v1/session").json()["csrf_token"]
    return browser


def test_a_console_over_files_of_the_folder(folder: Path) -> None:
    console = Console(folder, "--no-browser")
    try:
        assert console.first_line == f"sharkpy console, warehouse {folder / 'w'}\n"
        with httpx.Client(base_url=console.link.partition("/open")[0]) as stranger:
            refused = stranger.get("/api/v1/session")
            assert refused.status_code == 401
            assert "follow the new link" in refused.json()["error"]["hint"]
            assert stranger.get("/open?token=wrong").status_code == 403
            assert stranger.get("/open").status_code == 403
            assert stranger.get("/").status_code == 200, "the page itself has no secrets"
            wrong = stranger.post("/api/v1/login", json={"user": "root", "password": "x"})
            assert wrong.status_code == 401
            assert "no passwords" in wrong.json()["error"]["message"]
            with closing(logged_in(console.link)) as browser:
                assert browser.get(console.link).status_code == 303, "it is logged in"
                again = stranger.get(console.link)
                assert again.status_code == 403, "the link is for one browser"
                assert "has been followed" in again.text
                body = {"statement": "SELECT name FROM 'people.csv' WHERE age IS NOT NULL"}
                answer = browser.post("/v1/sql", json=body, headers={"Accept": "application/json"})
                assert '["Ada"]' in answer.text
                assert browser.get("/api/v1/queries").json()["queries"][0]["text"] == body["statement"]
                names = [one["name"] for one in browser.get("/api/v1/folder?path=").json()["entries"]]
                assert names == ["people.csv", "w"], "the current folder, by relative paths"
                [above] = browser.get(f"/api/v1/folder?path=../{folder.name}").json()["entries"]
                assert above["name"] == folder.name
                assert browser.get("/api/v1/folder?path=w/.sharkpy/").json()["entries"] == []
        ports = psutil.Process(console.process.pid).net_connections("inet")
        assert [one.laddr.ip for one in ports if one.status == psutil.CONN_LISTEN] == ["127.0.0.1"]
        assert "Traceback" not in console.end()
    finally:
        console.process.kill()
        console.process.communicate()


def test_the_browser_gets_the_link_from_a_file_of_its_owner(folder: Path) -> None:
    seen = folder / "seen"
    browser = folder / "browser"
    browser.write_text(f'#!/bin/sh\nfile="${{1#file://}}"\ncp -p "$file" {seen}.html\necho "$1" > {seen}\n')
    browser.chmod(0o755)
    console = Console(folder, BROWSER=str(browser), TMPDIR=str(folder))
    try:
        until(seen.exists)
        page = Path(f"{seen}.html")
        assert stat.S_IMODE(page.stat().st_mode) == 0o600
        [link] = LINK_TEXT.findall(page.read_text())
        assert link != console.link
        assert "token" not in seen.read_text(), "other users see the arguments of programs"
        logged_in(link).close()
        logged_in(console.link).close()
        console.end()
        assert not list(folder.glob("sharkpy-console-*"))
    finally:
        console.process.kill()
        console.process.communicate()


def test_enter_shows_another_link(folder: Path) -> None:
    shell = pexpect.spawn(COMMAND[0], [*COMMAND[1:], "--no-browser"], cwd=str(folder), timeout=200, encoding="utf-8")
    links = []
    for _ in range(2):
        shell.expect(LINK_TEXT)
        links.append(shell.match.group(0))
        shell.expect("Enter shows a link" if len(links) == 1 else "\n")
        shell.sendline()
    for link in links:
        logged_in(link).close()
    shell.sendintr()
    shell.expect(pexpect.EOF)
    shell.close()
    assert shell.exitstatus == 0


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[sharkpy.SharkContext]:
    with sharkpy.connect("local[2]", tmp_path / "w") as session:
        yield session


def test_the_owner_may_do_what_the_session_may(engine: sharkpy.SharkContext, tmp_path: Path) -> None:
    (tmp_path / "x.py").write_text("")
    engine.sql("SET shark.query.tag = before").fetchall()
    with own_console(engine) as new_link, closing(logged_in(new_link())) as browser:
        for text in (f"ADD FILE {tmp_path / 'x.py'}", f"CREATE TABLE t (a INT) LOCATION '{tmp_path / 'elsewhere'}'"):
            answer = browser.post("/v1/sql", json={"statement": text}, headers={"Accept": "application/json"})
            assert answer.status_code == 200, answer.text
        texts = [one["text"] for one in browser.get("/api/v1/queries").json()["queries"]]
        assert "SET shark.query.tag = before" in texts, "statements of the program, too"
        assert browser.get("/api/v1/session").json()["is_admin"]
    engine.sql("SELECT 1").fetchall()


def test_a_server_with_passwords_has_no_links(serve: Serve) -> None:
    with serve(knows_users=True).browser() as browser:
        assert browser.get("/open?token=").status_code == 403
        assert browser.get("/api/v1/session").json()["error"]["hint"] is None
    with pytest.raises(ConfigurationError, match="way to authenticate"):
        ServerConfig(auth="a link")
