"""`sharkpy.connect("http://…")` against the web server: rows, errors, cancelling, and answers that are cut off."""

from __future__ import annotations

import datetime
import json
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path
from typing import cast

import pyarrow as pa
import pytest

import sharkpy
from sharkpy.base.errors import CancelledError, ConfigurationError, ExecutionError, SharkError
from sharkpy.cli.main import main
from sharkpy.client.http_calls import HttpUrl, parse_http_url
from sharkpy.client.http_session import HttpNames, HttpSession
from sharkpy.client.server_errors import LoginError
from sharkpy.thrift.config import ServerConfig
from sharkpy.web.server import WebServer
from tests.thrift.clients.served import NAMES, Served, serving
from tests.waiting import until, when

TLS = Path(__file__).parent.parent / "thrift" / "transport" / "tls"
LONG = "SELECT count(*) FROM numbers a, numbers b WHERE a.n * b.n % 7 = 3 AND a.s > b.s"


def connect(url: str, **settings: object) -> HttpSession:
    return cast("HttpSession", sharkpy.connect(url, **settings))


@pytest.fixture
def session(web: WebServer) -> Iterator[HttpSession]:
    with connect(web.url) as opened:
        yield opened


def running(served: Served) -> list[object]:
    return [one for one in served.server.parts.sessions.operations() if one.is_running]


def test_every_type_is_as_in_process(session: HttpSession, served: Served) -> None:
    query = (
        f"SELECT {', '.join(NAMES)}, INTERVAL '-1-2' YEAR TO MONTH AS ym, INTERVAL '-3 04:05:06.7' DAY TO SECOND AS ds,"
        " NULL AS nothing, named_struct('Two Words', 1, 'grün', map('a', array(1.5BD))) AS st2 FROM every"
    )
    remote, local = session.sql(query), served.session.sql(query)
    assert remote.schema == local.schema
    assert remote.to_arrow().equals(local.to_arrow())
    assert session.sql(query).fetchall() == served.session.sql(query).fetchall()


def test_frames(session: HttpSession, served: Served) -> None:
    query = "SELECT n, s FROM numbers ORDER BY n"
    assert session.sql(query).to_pandas().equals(served.session.sql(query).to_pandas())
    assert session.sql(query).to_polars().equals(served.session.sql(query).to_polars())
    assert pa.table(session.sql(query)).num_rows == 30_000
    assert session.sql(query).fetchmany(2) == [(0, "row 0"), (1, "row 1")]


def test_parameters(session: HttpSession) -> None:
    values = [Decimal("1.50"), datetime.date(2024, 1, 1), b"\0'", "it's ${hivevar:x}", None, 2**40]
    assert session.sql("SELECT ?, ?, ?, ?, ?, ?", values).fetchall() == [tuple(values)]
    assert session.sql("SELECT n FROM numbers WHERE n IN (:some)", {"some": [5]}).fetchall() == [(5,)]
    with pytest.raises(SharkError, match="placeholders in the statement: 1, values given: 2"):
        session.sql("SELECT ?", [1, 2])


def test_errors_have_place_and_hint(session: HttpSession) -> None:
    with pytest.raises(ExecutionError) as raised:
        session.sql("SELECT ?,\n  ss FROM numbers", ["a long text"])
    error = raised.value
    assert (error.sqlstate, error.line, error.column) == ("42703", 2, 3)
    assert "did you mean" in str(error.hint)
    assert session.sql("SELECT 1").fetchall() == [(1,)]


def test_statements_without_rows_and_the_current_database(session: HttpSession) -> None:
    assert session.sql("USE other").columns == []
    assert session.current_database == "other"
    assert session.sql(
        "CREATE TEMPORARY TABLE two AS SELECT 1 AS x UNION ALL SELECT 2; SELECT sum(x) FROM two"
    ).fetchall() == [(3,)]
    assert session.sql("CREATE TEMPORARY TABLE one AS SELECT 1 AS x").rows_written == 1
    result = session.sql("EXPLAIN SELECT x FROM elsewhere")
    assert result.is_text
    assert "== Physical plan" in str(result.fetchall()[0][0])


def test_settings_and_database(web: WebServer) -> None:
    with connect(f"{web.url}other", shark_block_rows=77, **{"hivevar:x": "5"}) as session:
        assert session.sql("SELECT x, ${hivevar:x} FROM elsewhere").fetchall() == [(7, 5)]
        assert "=77" in str(session.sql("SET shark.block.rows").fetchall())
    with pytest.raises(SharkError) as raised:
        connect(f"{web.url}nowhere")
    assert raised.value.sqlstate == "3F000"
    with pytest.raises(ConfigurationError):
        sharkpy.connect(web.url, "warehouse")
    with pytest.raises(ConfigurationError):
        sharkpy.connect(web.url, nothing=1)


def test_several_results_and_threads(session: HttpSession) -> None:
    first, second = session.sql("SELECT n FROM numbers ORDER BY n"), session.sql("SELECT -n FROM numbers ORDER BY n")
    assert [first.fetchone(), second.fetchone(), first.fetchone()] == [(0,), (0,), (1,)]
    with ThreadPoolExecutor(8) as pool:
        found = pool.map(lambda one: session.sql("SELECT sum(n) + ? FROM numbers", [one]).fetchall(), range(40))
    assert [rows[0][0] for rows in found] == [449_985_000 + one for one in range(40)]


def test_cancel(session: HttpSession, served: Served) -> None:
    timer = when(lambda: running(served), session.cancel)
    with pytest.raises(CancelledError) as raised:
        session.sql(LONG).fetchall()
    timer.join()
    assert raised.value.sqlstate == "57014"
    until(lambda: not running(served))
    result = session.sql("SELECT n FROM numbers")
    result.fetchone()
    result.cancel()
    assert session.sql("SELECT 1").fetchall() == [(1,)]


def test_closing_a_result_or_the_session_ends_the_statement(session: HttpSession, served: Served) -> None:
    session.sql("SELECT a.n FROM numbers a, numbers b").close()
    until(lambda: not running(served))

    def fail() -> None:
        with pytest.raises(SharkError):
            session.sql(LONG)

    thread = threading.Thread(target=fail)
    thread.start()
    until(lambda: running(served))
    session.stop()
    session.stop()
    thread.join()
    until(lambda: not running(served))
    with pytest.raises(ExecutionError) as raised:
        session.sql("SELECT 1")
    assert raised.value.sqlstate == "08003"


def test_connections_are_used_again(session: HttpSession) -> None:
    for _ in range(3):
        assert session.sql("SELECT 1").fetchall() == [(1,)]
    (idle,) = session._calls._idle
    # The server ends an idle connection after some time.
    idle.sock.shutdown(socket.SHUT_RDWR)
    assert session.sql("SELECT 1").fetchall() == [(1,)]


def test_passwords(locked_web: WebServer) -> None:
    address = f"127.0.0.1:{locked_web.port}"
    with connect(f"http://ada:analytical@{address}") as session:
        assert session.sql("SELECT current_user()").fetchall() == [("ada",)]
        assert "analytical" not in repr(session) + session.master
    for user in ("", "ada@", "ada:wrong@"):
        with pytest.raises(LoginError) as raised:
            connect(f"http://{user}{address}")
        assert raised.value.sqlstate == "28000"


def test_tls(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    config = ServerConfig(port=0, web_port=0, tls_cert=TLS / "server.crt", tls_key=TLS / "server.key")
    with serving(served.session, config) as one, WebServer(one.server.parts, one.server.login) as web:
        url = f"https://localhost:{web.port}"
        with pytest.raises(ExecutionError, match="certificate"):
            connect(url)
        assert main(["-u", url, "--tls-ca", str(TLS / "server.crt"), "-e", "SELECT 1"]) == 0
        monkeypatch.setenv("SSL_CERT_FILE", str(TLS / "server.crt"))
        with connect(url) as session:
            assert session.sql("SELECT 1").fetchall() == [(1,)]
            when(lambda: running(one), session.cancel)
            with pytest.raises(CancelledError):
                session.sql(LONG).fetchall()


def test_the_command_line(
    locked_web: WebServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`sharkpy -u http://…` takes options as `hive2://…` does."""
    secret, script = tmp_path / "secret", tmp_path / "script.sql"
    secret.write_text("analytical\n")
    script.write_text("USE other;\n\nSELECT x, '${hivevar:day}' AS day, current_user() AS me FROM elsewhere;\n")
    url = f"http://127.0.0.1:{locked_web.port}"
    arguments = ["-u", f"{url}/default", "-n", "ada", "--format", "csv", "--hivevar", "day=Monday"]
    assert main([*arguments, "--login-password-file", str(secret), "-f", str(script)]) == 0
    assert capsys.readouterr().out == "x,day,me\n7,Monday,ada\n"
    monkeypatch.setenv("SHARKPY_PASSWORD", "analytical")
    assert main([*arguments, "--timing", "-e", "SELECT 1 AS a; SELECT nn FROM numbers"]) == 1
    captured = capsys.readouterr()
    assert captured.out == "a\n1\n"
    timing, *error = captured.err.splitlines()
    assert timing.startswith("1 row in ")
    assert error[0].startswith("error [42703]")
    assert error[1].index("nn") == error[2].index("^")
    assert main([*arguments, "-e", ".logs on"]) == 1
    assert "hive2://" in capsys.readouterr().err
    monkeypatch.setenv("SHARKPY_PASSWORD", "nonsense")
    assert main([*arguments, "-e", "SELECT 5"]) == 1
    assert "error [28000]" in capsys.readouterr().err
    assert main(["-u", url.replace(str(locked_web.port), "1"), "-e", "SELECT 5"]) == 1
    assert "error [08001]: cannot connect to http://127.0.0.1:1" in capsys.readouterr().err


def test_names_for_completion(session: HttpSession) -> None:
    names = HttpNames(session)
    assert names.databases() == ["default", "other"]
    assert names.tables() == ["every", "numbers"]
    assert names.tables("other") == ["elsewhere"]
    assert names.columns("Numbers") == names.columns("default.`numbers`") == ["n", "s"]
    assert "substring" in names.functions()
    assert names.tables("nowhere") == names.columns("nothing") == []
    session.sql("CREATE TEMPORARY TABLE own AS SELECT 1 AS x")
    assert HttpNames(session).tables() == ["every", "numbers", "own"]


def test_reconnecting(session: HttpSession, served: Served) -> None:
    session.sql("USE other; CREATE TEMPORARY TABLE own AS SELECT 1 AS x")
    before = len(served.server.parts.sessions.sessions())
    session.reconnect()
    assert session.sql("SELECT x FROM elsewhere").fetchall() == [(7,)]
    with pytest.raises(ExecutionError) as raised:
        session.sql("SELECT x FROM own")
    assert raised.value.sqlstate == "42S02"
    until(lambda: len(served.server.parts.sessions.sessions()) == before)


def test_nobody_there() -> None:
    with pytest.raises(ExecutionError) as raised:
        connect("http://127.0.0.1:1")
    assert raised.value.sqlstate == "08001"
    assert raised.value.message.startswith("cannot connect to http://127.0.0.1:1")


def answer_with(parts: list[bytes]) -> Iterator[int]:
    """A server that opens a session, and then answers with these bytes. Yield its port."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            session = json.dumps({"session_id": "x" * 32}).encode()
            opened = b"HTTP/1.1 201 Created\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(session) + session
            for answer in (opened, b"".join(parts), b"HTTP/1.1 204 No Content\r\n\r\n"):
                client, _ = listening.accept()
                with client:
                    client.recv(1 << 16)
                    client.sendall(answer)

        threading.Thread(target=serve, daemon=True).start()
        yield listening.getsockname()[1]


def arrow_answer(batches: int, error: str = "", *, ends_chunks: bool) -> list[bytes]:
    """An answer without a summary."""
    sink = pa.BufferOutputStream()
    schema = pa.schema([pa.field("x", pa.int64(), metadata={"sharkpy:type": "bigint"})])
    with pa.ipc.new_stream(sink, schema) as writer:
        for _ in range(batches):
            writer.write_batch(pa.record_batch([pa.array([1, 2])], schema=schema))
        if error:
            metadata = {b"sharkpy:error": json.dumps({"message": error, "sqlstate": "22000"}).encode()}
            writer.write_batch(pa.record_batch([pa.nulls(0, pa.int64())], schema=schema), metadata)
    body = sink.getvalue().to_pybytes()
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n" % len(body)
    return [head, body, b"\r\n", b"0\r\n\r\n" if ends_chunks else b""]


@pytest.mark.parametrize("ends_chunks", [True, False])
@pytest.mark.parametrize("batches", [0, 1])
def test_an_answer_that_is_cut_off(ends_chunks: bool, batches: int) -> None:
    """An answer is complete only with its last batch, even if a proxy ends the body of a broken one."""
    for port in answer_with(arrow_answer(batches, ends_chunks=ends_chunks)):
        with connect(f"http://127.0.0.1:{port}") as session, pytest.raises(ExecutionError) as raised:
            session.sql("SELECT x FROM t").fetchall()
        assert raised.value.sqlstate == "08S01"


def test_an_error_after_the_first_row() -> None:
    for port in answer_with(arrow_answer(1, "late", ends_chunks=False)):
        with connect(f"http://127.0.0.1:{port}") as session:
            result = session.sql("SELECT x FROM t")
            assert result.fetchmany(2) == [(1,), (2,)]
            with pytest.raises(ExecutionError, match="late") as raised:
                result.fetchone()
            assert raised.value.sqlstate == "22000"


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("http://localhost", HttpUrl("localhost", 80)),
        ("HTTPS://a.example/", HttpUrl("a.example", 443, is_tls=True)),
        ("http://ada:p%40ss%3A@[::1]:8080/sales", HttpUrl("::1", 8080, False, "ada", "p@ss:", "sales")),
        *(
            (text, None)
            for text in ("http://", "http://a:b:c", "http://a:99999", "http://a?x=1", "ftp://a", "http://[a")
        ),
    ],
)
def test_urls(text: str, url: HttpUrl | None) -> None:
    if url is None:
        with pytest.raises(ConfigurationError):
            parse_http_url(text)
    else:
        assert parse_http_url(text) == url
        assert "p@ss" not in str(url) + repr(url)
