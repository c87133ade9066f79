"""Pages of statements: the list and one statement's plan, escaped, and a user's own."""

from __future__ import annotations

import base64
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from sharkpy.thrift.auth.password_file import set_password
from sharkpy.thrift.server import HiveServer
from tests.thrift.caller import Caller, over_http
from tests.thrift.conftest import Serve
from tests.thrift.pages.test_operation_page import FORGED, Tags


def read(server: HiveServer, path: str, user: str = "") -> str:
    request = urllib.request.Request(f"http://127.0.0.1:{server.port}{path}")
    if user:
        request.add_header("Authorization", f"Basic {base64.b64encode(f'{user}:secret {user}'.encode()).decode()}")
    with urllib.request.urlopen(request) as answer:
        return str(answer.read().decode())


def test_statements_and_one_of_them(serve: Serve) -> None:
    server = serve()
    with Caller(server.port) as caller:
        caller.rows(f"SELECT count(*), {FORGED} FROM numbers WHERE n >= 7")
        caller.execute(f"SELECT nothing_{server.port} FROM numbers")
        [done] = server.parts.engine_session.history(1, like="SELECT count(*)*")
        listed = Tags(read(server, "/queries"))
        assert not listed.tags & {"script", "img", "link", "iframe", "form"}
        assert FORGED in listed.text
        assert done.query_id in listed.text
        assert f'href="/queries/{done.query_id}"' in read(server, "/queries")
        shown = Tags(read(server, f"/queries/{done.query_id}"))
        assert not shown.tags & {"script", "img", "a", "link", "iframe", "form"}
        for text in (FORGED, "finished", "ada", "stage 1: 1 task in the driver", "decided: "):
            assert text in shown.text
        [failed] = server.parts.engine_session.history(1, like=f"*nothing_{server.port}*")
        assert "[SQLSTATE 42703]" in read(server, f"/queries/{failed.query_id}")
        with pytest.raises(urllib.error.HTTPError, match="404"):
            read(server, "/queries/sharkpy_nothing")


def test_the_id_is_that_of_the_operation(serve: Serve) -> None:
    server = serve()
    with Caller(server.port) as caller:
        operation = caller.execute("SELECT 1 AS one").operationHandle
        query_id = f"sharkpy_{operation.operationId.guid.decode()}"
        [record] = server.parts.engine_session.history(query_id=query_id)
        assert record.text == "SELECT 1 AS one"
        caller.close(operation)


def test_readers_who_log_in_see_their_own(serve: Serve, tmp_path: Path) -> None:
    for user in ("ada", "bob"):
        set_password(tmp_path / "passwords", user, f"secret {user}")
    server = serve(auth="password", password_file=tmp_path / "passwords")
    ids = {}
    for user in ("ada", "bob"):
        with Caller(server.port, transport=over_http(server.port, user, f"secret {user}")) as caller:
            caller.rows(f"SELECT 'of {user}'")
            columns = caller.rows("SHOW QUERIES LIKE 'SELECT \\'of*'")
            assert set(columns[2]) == {user}
            ids[user] = columns[0][0]
    with pytest.raises(urllib.error.HTTPError, match="401"):
        read(server, "/queries")
    listed = read(server, "/queries", "ada")
    assert ids["ada"] in listed
    assert ids["bob"] not in listed
    assert "of bob" not in listed
    assert "of ada" in read(server, f"/queries/{ids['ada']}", "ada")
    with pytest.raises(urllib.error.HTTPError, match="404"):
        read(server, f"/queries/{ids['bob']}", "ada")
