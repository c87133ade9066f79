"""`POST /v1/sql`: rows as Arrow and as JSON, parameters, sessions, errors, limits, and clients that leave or wait."""

from __future__ import annotations

import http.client
import io
import json
import socket
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sharkpy
from sharkpy.base.errors import DataError
from sharkpy.thrift.operation import Operation
from sharkpy.web import sql_formats
from tests.thrift.clients.served import EVERY, FULL_ROW, LONG_QUERY, NAMES
from tests.waiting import until
from tests.web.conftest import Serve, Served

ARROW, LINES, JSON = "application/vnd.apache.arrow.stream", "application/x-ndjson", "application/json"
PARQUET = "application/vnd.apache.parquet"
ROWS = 300_000
LONG_ROWS = "SELECT n, s FROM numbers"


@pytest.fixture(scope="module", autouse=True)
def tables(engine: sharkpy.SharkContext) -> None:
    engine.sql(f"""
        CREATE TABLE every ({EVERY});
        INSERT INTO every SELECT {FULL_ROW};
        INSERT INTO every VALUES ({", ".join(["NULL"] * len(NAMES))});
        CREATE TABLE numbers AS SELECT cast(pos AS BIGINT) AS n, concat('row ', pos, repeat('x', 100)) AS s
            FROM (SELECT posexplode(split(space({ROWS - 1}), ' ')) AS (pos, x)) one;
        CREATE DATABASE other; CREATE TABLE other.elsewhere AS SELECT 7 AS x
    """)


@pytest.fixture
def browser(serve: Serve) -> Iterator[httpx.Client]:
    with serve().browser() as client:
        yield client


def ask(client: httpx.Client, statement: str, accept: str = LINES, **more: Any) -> httpx.Response:
    body = {"statement": statement, **more}
    return client.post("/v1/sql", json=body, headers={"Accept": accept})


def lines(answer: httpx.Response) -> tuple[dict[str, Any], list[Any], dict[str, Any]]:
    """The first line, the rows, and the last line."""
    assert answer.status_code == 200, answer.text
    first, *rows, last = map(json.loads, answer.text.splitlines())
    return first, rows, last


def rows(client: httpx.Client, statement: str, **more: Any) -> list[Any]:
    return lines(ask(client, statement, **more))[1]


def error(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["sqlstate"]


# Formats


def test_every_type_in_arrow(browser: httpx.Client, engine: sharkpy.SharkContext) -> None:
    query = f"SELECT {', '.join(NAMES)} FROM every"
    answer = ask(browser, query, ARROW)
    assert answer.headers["content-type"] == ARROW
    assert answer.headers["x-sharkpy-query-id"].startswith("sharkpy_")
    table, expected = pa.ipc.open_stream(answer.content).read_all(), engine.sql(query).to_arrow()
    assert table.schema == expected.schema
    assert table.to_pylist() == expected.to_pylist()
    types = [(field.metadata or {})[b"sharkpy:type"].decode() for field in table.schema]
    assert types == [str(field.dtype) for field in engine.sql(query).schema]
    assert polars.read_ipc_stream(answer.content).shape == (2, len(NAMES))


def test_the_end_of_an_arrow_stream(browser: httpx.Client) -> None:
    reader = pa.ipc.open_stream(ask(browser, "SELECT n FROM numbers", ARROW).content)
    counts, metadata = [], None
    while True:
        try:
            batch, metadata = reader.read_next_batch_with_custom_metadata()
        except StopIteration:
            break
        counts.append(batch.num_rows)
    assert sum(counts) == ROWS
    assert counts[-1] == 0
    assert json.loads(dict(metadata or {})[b"sharkpy:end"])["rows"] == ROWS


def test_every_type_in_parquet(browser: httpx.Client, engine: sharkpy.SharkContext) -> None:
    query = f"SELECT {', '.join(NAMES)} FROM every"
    answer = ask(browser, query, PARQUET)
    assert answer.headers["content-type"] == PARQUET
    assert pq.read_table(io.BytesIO(answer.content)).to_pylist() == engine.sql(query).to_arrow().to_pylist()
    assert error(ask(browser, "SELECT INTERVAL '1-2' YEAR TO MONTH AS i", PARQUET)) == (400, "0A000")


def test_row_groups_of_a_parquet_file(browser: httpx.Client) -> None:
    file = pq.ParquetFile(io.BytesIO(ask(browser, "SELECT n, concat(s, uuid()) FROM numbers", PARQUET).content))
    groups = [file.metadata.row_group(index) for index in range(file.num_row_groups)]
    assert len(groups) > 1
    assert max(group.total_byte_size for group in groups) < 60_000_000
    assert file.metadata.num_rows == ROWS
    assert file.metadata.row_group(0).column(0).compression == "ZSTD"
    small = pq.read_table(io.BytesIO(ask(browser, "SELECT n FROM numbers", PARQUET, max_rows=70_000).content))
    assert sorted(small["n"].to_pylist()) == list(range(70_000))
    assert pq.read_table(io.BytesIO(ask(browser, "SELECT n FROM numbers WHERE n < 0", PARQUET).content)).num_rows == 0
    assert pq.read_table(io.BytesIO(ask(browser, "SET shark.query.tag = a", PARQUET).content)).num_columns == 0


@pytest.mark.usefixtures("failing")
def test_a_parquet_file_of_a_failed_statement_is_cut_off(
    browser: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert error(ask(browser, LONG_ROWS, PARQUET)) == (400, "22000"), "no row was sent"
    monkeypatch.setattr(sql_formats, "ROW_GROUP_BYTES", 1)
    with (
        browser.stream("POST", "/v1/sql", json={"statement": LONG_ROWS}, headers={"Accept": PARQUET}) as answer,
        pytest.raises(httpx.RemoteProtocolError, match="incomplete"),
    ):
        answer.read()


def test_every_type_in_json(browser: httpx.Client) -> None:
    first, found, last = lines(ask(browser, f"SELECT {', '.join(NAMES)} FROM every ORDER BY i DESC"))
    assert [column["name"] for column in first["columns"]] == NAMES
    assert [column["type"] for column in first["columns"]][-3:] == [
        "array<int>",
        "map<string,int>",
        "struct<x:int,y:string>",
    ]
    assert found == [
        [
            *(True, 127, -32767, 2147483647, "-9223372036854775807", 1.5, 0.1, "grün 🦈", "varchar", "ch"),
            *("Ynl0ZXM=", "2024-02-29", "2024-02-29T12:34:56.789012", "123456789.125"),
            *([1, 2, None], {"k": 1}, {"x": 1, "y": "z"}),
        ],
        [None] * len(NAMES),
    ]
    assert (last["rows"], last["has_more"], last["rows_written"]) == (2, False, None)
    assert last["seconds"] > 0


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("9007199254740991", 9007199254740991),
        ("9007199254740992", "9007199254740992"),
        ("CAST('NaN' AS DOUBLE)", "NaN"),
        ("CAST('-Infinity' AS DOUBLE)", "-Infinity"),
        ("CAST('Infinity' AS FLOAT)", "Infinity"),
        ("CAST(0.1 AS FLOAT)", 0.1),
        ("INTERVAL '1-2' YEAR TO MONTH", "1-2"),
        ("INTERVAL '3 04:05:06.7' DAY TO SECOND", "3 04:05:06.700000000"),
        ("map(1, array(CAST(1.50 AS DECIMAL(3,2)), NULL))", {"1": ["1.50", None]}),
        (
            "named_struct('at', DATE '2024-02-29', 'many', 9007199254740992)",
            {"at": "2024-02-29", "many": "9007199254740992"},
        ),
        ("array(named_struct('b', binary('a')), NULL)", [{"b": "YQ=="}, None]),
        ("DATE '0001-01-01'", "0001-01-01"),
        ("CAST(NULL AS ARRAY<DATE>)", None),
        ("'a\\nb\\u0000\"'", 'a\nb\0"'),
    ],
)
def test_values_in_json(browser: httpx.Client, expression: str, value: object) -> None:
    assert rows(browser, f"SELECT {expression}") == [[value]]


@pytest.mark.parametrize(
    ("accept", "found"),
    [
        ("", ARROW),
        ("*/*", ARROW),
        (ARROW, ARROW),
        (JSON, LINES),
        ("application/*", ARROW),
        ("text/html, application/json;q=0.9", LINES),
        (f"{ARROW};q=0.1, {LINES}", LINES),
        (f"{ARROW};q=0, */*;q=0.1", ARROW),
        ("text/html", None),
        ("application/json;q=0", None),
        ("application/json;q=much", None),
    ],
)
def test_formats_that_clients_accept(browser: httpx.Client, accept: str, found: str | None) -> None:
    answer = ask(browser, "SELECT 1", accept)
    if found is None:
        assert answer.status_code == 406
    else:
        assert answer.headers["content-type"] == found


def test_text_and_statements_without_rows(browser: httpx.Client) -> None:
    def run(text: str) -> httpx.Response:
        return browser.post("/v1/sql", content=text, headers={"Content-Type": "text/plain", "Accept": LINES})

    first, found, last = lines(run("CREATE TABLE three AS SELECT 1 AS x UNION ALL SELECT 2 UNION ALL SELECT 3;"))
    assert (first["columns"], found, last["rows"], last["rows_written"]) == ([], [], 0, 3)
    assert lines(run("SELECT sum(x) FROM three"))[1] == [[6]]
    arrow = pa.ipc.open_stream(ask(browser, "DROP TABLE three", ARROW).content)
    assert arrow.schema.names == []
    assert error(run("SELECT 1; SELECT 2")) == (400, "42601")
    assert error(run(" ")) == (400, "42601")


# Parameters


@pytest.mark.parametrize(
    ("statement", "parameters", "row"),
    [
        ("SELECT ?, ?, ?, ?, ?", [None, True, -7, 1.5, "it's"], [None, True, -7, 1.5, "it's"]),
        ("SELECT :b, :a, :b", {"a": 1, "b": "x", "unused": 2}, ["x", 1, "x"]),
        ("SELECT 2 IN (?), 3 IN ?", [[1, 2], [1, 2]], [True, False]),
        ("SELECT '?', `?column?`, ? FROM (SELECT 1 AS `?column?`) t -- ?", ["a"], ["?", 1, "a"]),
        ("SELECT ?", ["' OR '1'='1"], ["' OR '1'='1"]),
        ("SELECT ?", ["\\' ; DROP TABLE every -- \\"], ["\\' ; DROP TABLE every -- \\"]),
        ("SELECT ?", ["${hiveconf:shark.block.rows}"], ["${hiveconf:shark.block.rows}"]),
        ("SELECT CAST(? AS DATE)", ["2024-02-29"], ["2024-02-29"]),
        ("SELECT ?", [2**63], ["9223372036854775808"]),
        ("SELECT '?' AS x", None, ["?"]),
    ],
)
def test_parameters(browser: httpx.Client, statement: str, parameters: object, row: list[object]) -> None:
    assert rows(browser, statement, parameters=parameters) == [row]


@pytest.mark.parametrize(
    ("statement", "parameters", "sqlstate"),
    [
        ("SELECT ?", [], "07001"),
        ("SELECT ?", [1, 2], "07001"),
        ("SELECT :a", {"b": 1}, "07001"),
        ("SELECT 1 IN (?)", [[]], "07001"),
        ("SELECT ?", ["\ud800"], "22000"),
        ("SELECT ?", [10**38], "22000"),
        ("SELECT ? '", [1], "42601"),
    ],
)
def test_parameters_that_do_not_fit(browser: httpx.Client, statement: str, parameters: object, sqlstate: str) -> None:
    body = json.dumps({"statement": statement, "parameters": parameters})
    answer = browser.post("/v1/sql", content=body, headers={"Content-Type": JSON})
    assert error(answer) == (400, sqlstate)


# Errors


def test_errors_have_a_place_and_a_hint(browser: httpx.Client) -> None:
    answer = ask(browser, "SELECT ?,\n  ss FROM numbers", parameters=["a\nb"])
    assert answer.status_code == 400
    assert answer.headers["content-type"] == JSON
    found = answer.json()["error"]
    assert (found["sqlstate"], found["line"], found["column"]) == ("42703", 2, 3)
    assert "did you mean" in found["hint"]


@pytest.mark.parametrize(
    ("statement", "more", "expected"),
    [
        ("SELECT 1 +", {}, (400, "42601")),
        ("SELECT * FROM nowhere", {}, (400, "42S02")),
        ("SELECT raise_error('at run time')", {}, (400, "22000")),
        ("CREATE TABLE outside (x INT) LOCATION '/etc'", {}, (403, "42501")),
        ("SELECT 1", {"settings": {"shark.process.memory": "1"}}, (403, "42501")),
        ("SELECT 1", {"settings": {"shark.nothing": "1"}}, (400, "42704")),
        ("SELECT 1", {"session_id": "x" * 32}, (404, "08003")),
        (LONG_QUERY, {"timeout_seconds": 0.5}, (408, "57014")),
        (LONG_QUERY, {"settings": {"shark.query.timeout": "0.5"}}, (408, "57014")),
    ],
)
def test_errors_before_the_first_row(
    browser: httpx.Client, statement: str, more: dict[str, Any], expected: tuple[int, str]
) -> None:
    assert error(ask(browser, statement, ARROW, **more)) == expected


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second fetch of each statement fails."""
    fetch, begun = Operation.fetch, set[Operation]()

    def failing_fetch(self: Operation, most: int, *, from_start: bool) -> tuple[int, list[pa.RecordBatch], bool]:
        if self in begun:
            raise DataError("late", hint="earlier")
        begun.add(self)
        return fetch(self, min(most, 7), from_start=from_start)

    monkeypatch.setattr(Operation, "fetch", failing_fetch)


@pytest.mark.usefixtures("failing")
def test_errors_after_the_first_row_in_json(browser: httpx.Client) -> None:
    first, found, last = lines(ask(browser, "SELECT n FROM numbers"))
    assert first["query_id"]
    assert len(found) == 7
    assert last["error"] == {"message": "late", "sqlstate": "22000", "line": None, "column": None, "hint": "earlier"}


@pytest.mark.usefixtures("failing")
def test_errors_after_the_first_row_in_arrow(browser: httpx.Client) -> None:
    """The answer is cut off, and its last batch has the error."""
    read: list[bytes] = []
    with browser.stream("POST", "/v1/sql", json={"statement": "SELECT n FROM numbers"}) as answer:
        assert answer.status_code == 200
        with pytest.raises(httpx.RemoteProtocolError, match="incomplete"):
            read.extend(answer.iter_raw())
    reader = pa.ipc.open_stream(b"".join(read))
    assert reader.read_next_batch().num_rows == 7
    batch, metadata = reader.read_next_batch_with_custom_metadata()
    assert batch.num_rows == 0
    assert json.loads(dict(metadata or {})[b"sharkpy:error"])["message"] == "late"


def test_limits_of_the_server(serve: Serve) -> None:
    with serve(sessions=1, frame_bytes=10_000).browser() as browser:
        assert browser.post("/v1/sessions").status_code == 200
        assert error(ask(browser, "SELECT 1")) == (429, "53300")
        assert error(ask(browser, f"SELECT '{'x' * 10_000}'")) == (413, "54000")


# Sessions


def test_sessions_keep_settings_and_temporary_tables(browser: httpx.Client) -> None:
    opened = browser.post("/v1/sessions", json={"settings": {"shark.block.rows": "77"}, "database": "other"})
    assert opened.status_code == 200
    session = opened.json()["session_id"]
    assert rows(browser, "SELECT x FROM elsewhere", session_id=session) == [[7]]
    assert rows(browser, "SET shark.block.rows", session_id=session) == [["shark.block.rows=77"]]
    overlay = {"shark.block.rows": "88"}
    assert rows(browser, "SET shark.block.rows", session_id=session, settings=overlay) == [["shark.block.rows=88"]]
    answer = ask(browser, "CREATE TEMPORARY TABLE own AS SELECT 1 AS x", session_id=session)
    assert answer.headers["x-sharkpy-session-id"] == session
    assert rows(browser, "SELECT x FROM own", session_id=session) == [[1]]
    assert error(ask(browser, "SELECT x FROM other.own")) == (400, "42S02")
    assert browser.delete(f"/v1/sessions/{session}").status_code == 204
    assert error(browser.delete(f"/v1/sessions/{session}")) == (404, "08003")
    assert error(ask(browser, "SELECT 1", session_id=session)) == (404, "08003")


def test_a_statement_without_a_session_leaves_nothing(serve: Serve) -> None:
    served = serve()
    with served.browser() as browser:
        assert rows(browser, "SELECT 1") == [[1]]
        assert ask(browser, "SELECT nothing").status_code == 400
        assert error(ask(browser, "SELECT 1", settings={"shark.nothing": "1"}))[0] == 400
    until(lambda: not served.server.parts.sessions.sessions())


def test_idle_sessions_end(serve: Serve) -> None:
    served = serve(idle_session_seconds=0.2)
    with served.browser() as browser:
        session = browser.post("/v1/sessions").json()["session_id"]
        until(lambda: not served.server.parts.sessions.sessions())
        assert error(ask(browser, "SELECT 1", session_id=session)) == (404, "08003")


def test_a_session_is_for_its_user(serve: Serve) -> None:
    served = serve(knows_users=True)
    ada, bob = ("ada", "secret ada"), ("bob", "secret bob")
    with served.browser() as browser:
        assert error(browser.post("/v1/sql", json={"statement": "SELECT 1"})) == (401, "28000")
        assert error(browser.post("/v1/sql", json={"statement": "SELECT 1"}, auth=("ada", "wrong"))) == (401, "28000")
        opened = browser.post("/v1/sessions", auth=ada).json()
        assert opened["user"] == "ada"
        body = {"statement": "SELECT current_user()", "session_id": opened["session_id"]}
        headers = {"Accept": LINES}
        assert lines(browser.post("/v1/sql", json=body, auth=ada, headers=headers))[1] == [["ada"]]
        assert error(browser.post("/v1/sql", json=body, auth=bob)) == (404, "08003")
        assert error(browser.delete(f"/v1/sessions/{opened['session_id']}", auth=bob)) == (404, "08003")
        without_secret = {**body, "session_id": opened["session_id"][:16] + "x" * 16}
        assert error(browser.post("/v1/sql", json=without_secret, auth=ada)) == (404, "08003")


def test_pages_of_other_sites_cannot_run_statements(serve: Serve) -> None:
    served = serve(knows_users=True)
    text = {"Content-Type": "text/plain"}
    with served.browser("ada") as browser:
        assert browser.post("/v1/sql", content="SELECT 1", headers=text).status_code == 200
        assert browser.post("/v1/sql", content="SELECT 1", headers={**text, "Origin": "http://evil"}).status_code == 403
        del browser.headers["X-CSRF-Token"]
        assert browser.post("/v1/sql", content="SELECT 1", headers=text).status_code == 403


# Rows


@pytest.mark.parametrize("accept", [ARROW, LINES])
@pytest.mark.parametrize(
    ("most", "count", "has_more"),
    [(0, 0, True), (1, 1, True), (70_000, 70_000, True), (ROWS - 1, ROWS - 1, True), (ROWS, ROWS, False)],
)
def test_max_rows(browser: httpx.Client, accept: str, most: int, count: int, has_more: bool) -> None:
    answer = ask(browser, "SELECT n FROM numbers", accept, max_rows=most)
    if accept == LINES:
        _, found, last = lines(answer)
        assert (len(found), last["rows"], last["has_more"]) == (count, count, has_more)
    else:
        assert pa.ipc.open_stream(answer.content).read_all().num_rows == count


def test_a_slow_reader_holds_little_memory_and_no_thread(serve: Serve) -> None:
    limit = 1 << 20
    served = serve(bytes_buffered=limit, login_seconds=0.5)
    query = "SELECT n, concat(s, uuid(), uuid()) AS s FROM numbers"
    with served.browser() as browser, browser.stream("POST", "/v1/sql", json={"statement": query}) as answer:
        parts = answer.iter_raw()
        read = [next(parts)]
        (operation,) = served.server.parts.sessions.operations()
        threads = served.web.state.statement_threads
        until(lambda: threads.borrowed_tokens == 0)
        # A client may take longer than the 0.5 s for which the console's connections may wait.
        time.sleep(2)
        assert operation.is_running
        assert operation.bytes_ahead < 20 * limit, "one batch, or little more"
        assert threads.borrowed_tokens == 0
        read += parts
    assert pa.ipc.open_stream(b"".join(read)).read_all().num_rows == ROWS


def test_a_reader_that_reads_nothing_is_cut_off(serve: Serve) -> None:
    served = serve(bytes_buffered=1 << 20, idle_operation_seconds=1.0)
    query = "SELECT n, concat(s, uuid(), uuid()) AS s FROM numbers"
    with served.browser() as browser, browser.stream("POST", "/v1/sql", json={"statement": query}) as answer:
        next(answer.iter_raw())
        until(lambda: not served.server.parts.sessions.sessions())


# Clients that leave


def raw(served: Served, statement: str, **more: object) -> socket.socket:
    body = json.dumps({"statement": statement, **more}).encode()
    client = socket.create_connection(("127.0.0.1", served.web.port))
    client.sendall(
        b"POST /v1/sql HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
    )
    return client


def running(served: Served) -> Callable[[], list[Any]]:
    return lambda: [one for one in served.server.parts.sessions.operations() if one.is_running]


@pytest.mark.parametrize("statement", [LONG_QUERY, LONG_ROWS, "SELECT java_method('a', 'b')"])
@pytest.mark.parametrize("has_session", [False, True])
def test_a_statement_ends_when_its_client_leaves(serve: Serve, statement: str, has_session: bool) -> None:
    served = serve(bytes_buffered=1 << 20)
    more = {}
    with served.browser() as browser:
        if has_session:
            more["session_id"] = browser.post("/v1/sessions").json()["session_id"]
        with raw(served, statement, **more) as client:
            if "java_method" not in statement:
                until(running(served))
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        until(lambda: not [*served.server.parts.sessions.operations()])
        until(lambda: bool(served.server.parts.sessions.sessions()) == has_session)
        if has_session:
            assert rows(browser, "SELECT 1", **more) == [[1]]


@pytest.mark.parametrize(
    "statement", ["SELECT 42 AS answer", "SELECT count(*) + 42 FROM numbers WHERE n < 0", LONG_ROWS]
)
def test_a_client_that_closes_its_half_gets_its_rows(serve: Serve, statement: str) -> None:
    with raw(serve(bytes_buffered=1 << 20), statement) as client:
        client.shutdown(socket.SHUT_WR)
        answer = http.client.HTTPResponse(client)
        answer.begin()
        table = pa.ipc.open_stream(answer.read()).read_all()
        assert table.num_rows == ROWS if statement == LONG_ROWS else table.to_pylist()[0].popitem()[1] == 42


def test_a_statement_ends_when_its_client_has_closed_both_halves(serve: Serve) -> None:
    """The close of the second half sends nothing. The server notices it by its interim responses."""
    served = serve()
    with raw(served, LONG_QUERY) as client:
        until(running(served))
        client.shutdown(socket.SHUT_WR)
        time.sleep(1.5)
        assert running(served)()
    until(lambda: not [*served.server.parts.sessions.operations()], 5)


def test_closing_a_session_ends_its_statements(serve: Serve) -> None:
    served = serve()
    with served.browser() as browser:
        session = browser.post("/v1/sessions").json()["session_id"]
        with raw(served, LONG_QUERY, session_id=session) as client:
            until(running(served))
            assert browser.delete(f"/v1/sessions/{session}").status_code == 204
            received = b""
            while b"57014" not in received:
                received += (part := client.recv(10_000))
                assert part, "the connection ends after the error"


def test_a_server_that_stops_cuts_answers_off(serve: Serve) -> None:
    served = serve(bytes_buffered=1 << 20)
    query = "SELECT n, concat(s, uuid(), uuid()) AS s FROM numbers"
    with served.browser() as browser, browser.stream("POST", "/v1/sql", json={"statement": query}) as answer:
        parts = answer.iter_raw()
        next(parts)
        served.server.stop(drain=False)
        served.web.stop()
        with pytest.raises(httpx.RemoteProtocolError):
            list(parts)


# Malformed requests

_WRONG_VALUES: dict[str, list[object]] = {
    "statement": [
        None,
        1,
        1.5,
        True,
        [],
        {},
        ["SELECT 1"],
        "",
        " ",
        ";",
        "SELECT 1 \0",
        "\ud800",
        "'",
        "SELECT (" * 600,
    ],
    "parameters": [1, "a", True, 1.5, [{}], [[[]]], [[[1]]], {"a": {}}, {"a": [[1]]}, [1], [{"type": "int"}], [[{}]]],
    "session_id": [1, True, [], {}, "", "x", "x" * 31, "x" * 32, "x" * 1000, "é" * 16, "\ud800" * 32, "\0" * 32],
    "settings": [1, "a", [], [1], {"a": 1}, {"a": None}, {"a": []}, {"shark.a": "b"}, {"\ud800": "x"}],
    "max_rows": [-1, -(2**70), 1.5, "1", "", True, [], {}, [1], 1e3],
    "timeout_seconds": [0, -1, -0.5, 1e999, -1e999, float("nan"), "1", "", True, [], {}],
    "other": [None, 1, "a"],
    "Statement": ["SELECT 1"],
}
_BODIES: list[bytes] = [
    *(
        b"",
        b" ",
        b"{",
        b"}",
        b"null",
        b"1",
        b"[]",
        b'"SELECT 1"',
        b"{}",
        b'{"statement"}',
        b"\xff",
        b'{"statement": "\xff"}',
    ),
    *(
        b'{"statement": "SELECT 1"',
        b'{"statement": "SELECT 1"}}',
        b"{'statement': 'SELECT 1'}",
        b"SELECT 1",
        b"\0" * 100,
    ),
    *(
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b'{"statement": "SELECT 1", "parameters": ' + b"[" * 5_000 + b"]" * 5_000 + b"}",
    ),
    *(
        b'{"statement": "SELECT 1", "max_rows": ' + b"9" * 5_000 + b"}",
        b"\xef\xbb\xbf{}",
        b'{"statement": "SELECT 1\n"}',
    ),
]
_TYPES: list[str | None] = [
    None,
    "",
    "x",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "a/b/c",
]
MALFORMED: list[tuple[bytes, str | None]] = [
    *(
        (json.dumps({"statement": "SELECT 1", name: value}).encode(), JSON)
        for name, values in _WRONG_VALUES.items()
        for value in values
    ),
    *((body, JSON) for body in _BODIES),
    *((body, "text/plain") for body in (b"", b" ", b"\xff", b"SELECT 1; SELECT 2", b"\0", b"SELECT '", b"SELECT ?")),
    *((b"SELECT 1", kind) for kind in _TYPES),
]


def test_malformed_requests(serve: Serve) -> None:
    """Each is refused, and none harms the server."""
    assert len(MALFORMED) >= 100
    served = serve()
    taken = []
    with served.browser() as browser:
        for body, kind in MALFORMED:
            answer = browser.post("/v1/sql", content=body, headers={} if kind is None else {"Content-Type": kind})
            is_refused = 400 <= answer.status_code < 500 and answer.json()["error"]["sqlstate"][:2] not in ("XX", "HY")
            if not is_refused:
                taken.append((body[:80], kind, answer.status_code, answer.text[:200]))
        assert not taken
        assert rows(browser, "SELECT 1") == [[1]]
        until(lambda: not served.server.parts.sessions.sessions())
