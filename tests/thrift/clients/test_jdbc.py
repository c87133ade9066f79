"""Hive's JDBC driver, in a JVM of its own."""

from __future__ import annotations

import contextlib
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from py4j import java_gateway, protocol
from py4j.java_gateway import JavaGateway
from py4j.protocol import Py4JJavaError

import sharkpy
from sharkpy.base.java import find_java
from sharkpy.thrift.config import ServerConfig
from tests.thrift.clients.following import follow
from tests.thrift.clients.java import JARS, java_options
from tests.thrift.clients.served import LONG_QUERY, NAMES, ROWS, Served, serving
from tests.waiting import allowed

pytestmark = pytest.mark.spark

Connect = Callable[..., Any]
CERTIFICATE = Path(__file__).parents[1] / "transport" / "tls" / "server.crt"
URLS = {
    "sasl": "jdbc:hive2://127.0.0.1:{port}/{database}",
    "nosasl": "jdbc:hive2://127.0.0.1:{port}/{database};auth=noSasl",
    "http": "jdbc:hive2://127.0.0.1:{port}/{database};transportMode=http;httpPath=cliservice",
}


@pytest.fixture(scope="module", autouse=True)
def errors_of_java() -> Iterator[None]:
    """Py4J's own errors: a SparkSession of an earlier test has it ask Spark's JVM what each one is, by its number."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(java_gateway, "get_return_value", protocol.get_return_value)
        yield


@pytest.fixture(scope="module")
def jvm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    home: Path = tmp_path_factory.mktemp("home")
    gateway = JavaGateway.launch_gateway(
        jarpath=str(next(JARS.glob("py4j-*.jar"))),
        classpath=str(JARS / "*"),
        javaopts=java_options(home),
        java_path=find_java().executable,
        die_on_exit=True,
        enable_auth=True,
    )
    gateway.jvm.java.lang.Class.forName("org.apache.hive.jdbc.HiveDriver")
    yield gateway.jvm
    gateway.shutdown()
    gateway.java_process.stdin.close()
    gateway.java_process.wait(10)


@pytest.fixture
def connect(jvm: Any, port: int) -> Iterator[Connect]:
    with contextlib.ExitStack() as stack:

        def open_one(transport: str = "sasl", database: str = "default", tail: str = "", **login: str) -> Any:
            url = URLS[transport].format(port=login.pop("port", port), database=database) + tail
            user, password = login.get("user", "tester"), login.get("password", "any")
            connection = jvm.java.sql.DriverManager.getConnection(url, user, password)
            stack.callback(connection.close)
            return connection

        yield open_one


@pytest.fixture
def connection(connect: Connect) -> Any:
    return connect()


@pytest.fixture
def statement(connection: Any) -> Any:
    return connection.createStatement()


def rows(result: Any) -> list[list[Any]]:
    """Each value as text; None if it is null."""
    width = result.getMetaData().getColumnCount()
    found = []
    while result.next():
        found.append([result.getString(place) for place in range(1, width + 1)])
    return found


def columns(result: Any, *names: str) -> list[tuple[Any, ...]]:
    found = []
    while result.next():
        found.append(tuple(result.getString(name) for name in names))
    return found


@pytest.fixture
def sql_error(jvm: Any) -> Callable[..., Any]:
    """The SQLException that a call ends in."""

    def failing(call: Callable[..., Any], *arguments: Any) -> Any:
        with pytest.raises(Py4JJavaError) as caught:
            call(*arguments)
        return caught.value.java_exception

    return failing


@pytest.mark.variants(3)
@pytest.mark.parametrize("transport", URLS)
def test_every_type_over_every_transport(connect: Connect, transport: str) -> None:
    result = connect(transport).createStatement().executeQuery("SELECT * FROM every ORDER BY b NULLS LAST")
    assert result.next()
    assert result.getBoolean("b") is True
    assert result.getByte("ti") == 127
    assert result.getShort("si") == -32767
    assert result.getInt("i") == 2147483647
    assert result.getLong("bi") == -9223372036854775807
    assert result.getFloat("f") == 1.5
    assert result.getDouble("d") == 0.1
    assert result.getString("s") == "grün 🦈"
    assert result.getString("vc") == "varchar"
    assert result.getString("c").rstrip() == "ch"
    assert result.getString("bin") == "bytes"
    assert result.getDate("dt").toString() == "2024-02-29"
    assert result.getTimestamp("ts").toString() == "2024-02-29 12:34:56.789012"
    assert result.getBigDecimal("de") == Decimal("123456789.125")
    assert result.getString("a") == "[1,2,null]"
    assert result.getString("m") == '{"k":1}'
    assert result.getString("st") == '{"x":1,"y":"z"}'
    assert result.next()
    for name in NAMES:
        assert result.getObject(name) is None
        assert result.wasNull()
    assert result.getInt("i") == 0
    assert result.getBoolean("b") is False
    assert not result.next()


def test_what_a_result_says_of_its_columns(statement: Any) -> None:
    about = statement.executeQuery("SELECT * FROM every").getMetaData()
    told = [
        (about.getColumnName(n), about.getColumnTypeName(n), about.getPrecision(n), about.getScale(n))
        for n in range(1, about.getColumnCount() + 1)
    ]
    assert told == [
        ("b", "boolean", 1, 0),
        ("ti", "tinyint", 3, 0),
        ("si", "smallint", 5, 0),
        ("i", "int", 10, 0),
        ("bi", "bigint", 19, 0),
        ("f", "float", 7, 7),
        ("d", "double", 15, 15),
        ("s", "string", 2147483647, 0),
        ("vc", "varchar", 10, 0),
        ("c", "char", 4, 0),
        ("bin", "binary", 2147483647, 0),
        ("dt", "date", 10, 0),
        ("ts", "timestamp", 29, 9),
        ("de", "decimal", 12, 3),
        ("a", "array", 2147483647, 0),
        ("m", "map", 2147483647, 0),
        ("st", "struct", 2147483647, 0),
    ]


def test_types_that_are_never_stored(statement: Any) -> None:
    result = statement.executeQuery(
        "SELECT INTERVAL '1-2' YEAR TO MONTH AS ym, INTERVAL '3 04:05:06.7' DAY TO SECOND AS ds, NULL AS n"
    )
    assert rows(result) == [["1-2", "3 04:05:06.700000000", None]]


def test_prepared_statements(jvm: Any, connection: Any) -> None:
    prepared = connection.prepareStatement("SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, '?', ?")
    prepared.setBoolean(1, True)
    prepared.setByte(2, 7)
    prepared.setShort(3, -300)
    prepared.setInt(4, 70_000)
    prepared.setLong(5, 1 << 40)
    prepared.setFloat(6, 1.5)
    prepared.setDouble(7, 0.25)
    prepared.setString(8, 'it\'s; "so" 🦈')
    prepared.setDate(9, jvm.java.sql.Date.valueOf("2024-02-29"))
    prepared.setTimestamp(10, jvm.java.sql.Timestamp.valueOf("2024-02-29 12:34:56.5"))
    prepared.setBigDecimal(11, jvm.java.math.BigDecimal("12.50"))
    prepared.setNull(12, jvm.java.sql.Types.INTEGER)
    (row,) = rows(prepared.executeQuery())
    assert row[:9] == ["true", "7", "-300", "70000", "1099511627776", "1.5", "0.25", 'it\'s; "so" 🦈', "2024-02-29"]
    assert row[9].startswith("2024-02-29 12:34:56.5")
    assert row[10:] == ["12.50", "?", None]
    prepared.setInt(4, 5)
    assert rows(prepared.executeQuery())[0][3] == "5"


def test_prepared_inserts(connection: Any) -> None:
    statement = connection.createStatement()
    statement.execute("CREATE TABLE prepared (k INT, v STRING)")
    insert = connection.prepareStatement("INSERT INTO prepared VALUES (?, ?)")
    for key, value in ((1, "a'b"), (2, "c\\d"), (3, "?")):
        insert.setInt(1, key)
        insert.setString(2, value)
        insert.executeUpdate()
    found = rows(statement.executeQuery("SELECT * FROM prepared ORDER BY k"))
    statement.execute("DROP TABLE prepared")
    assert found[0] == ["1", "a'b"]
    assert found[2] == ["3", "?"]


def test_updates_have_no_rows(connection: Any) -> None:
    statement = connection.createStatement()
    for sql, count in (
        ("CREATE TABLE updated (x INT)", 0),
        ("INSERT INTO updated VALUES (1), (2)", 2),
        ("DROP TABLE updated", 0),
        ("SET shark.pool=a", 0),
    ):
        assert statement.execute(sql) is False, sql
        assert statement.getResultSet() is None
        assert statement.getUpdateCount() == count
    assert statement.executeUpdate("CREATE TABLE updated AS SELECT n FROM numbers WHERE n < 700") == 700
    assert statement.executeUpdate("DROP TABLE updated") == 0
    assert statement.execute("SELECT 1") is True
    assert statement.getUpdateCount() == -1


def test_batches(connection: Any, sql_error: Callable[..., Any]) -> None:
    """The driver has none: it says so itself."""
    statement = connection.createStatement()
    assert "not supported" in str(sql_error(statement.addBatch, "SELECT 1").toString()).lower()


def test_errors_have_state_code_and_one_line(statement: Any, sql_error: Callable[..., Any]) -> None:
    for sql, state, code, said in (
        ("SELECT * FROM nope", "42S02", 10001, "Table not found nope"),
        ("SELEC 1", "42601", 40000, "ParseException"),
        ("SELECT assert_true(n < 5) FROM numbers", "22000", 2, "assertion failed"),
    ):
        error = sql_error(statement.executeQuery, sql)
        assert (error.getSQLState(), error.getErrorCode()) == (state, code)
        assert said in error.getMessage()
        assert "\n" not in error.getMessage()
    assert rows(statement.executeQuery("SELECT 1")) == [["1"]]


def test_query_timeout(jvm: Any, statement: Any, sql_error: Callable[..., Any], served: Served) -> None:
    statement.setQueryTimeout(1)
    start = time.monotonic()
    error = sql_error(statement.executeQuery, LONG_QUERY)
    assert time.monotonic() - start < allowed(3)
    assert error.getClass().getName() == "java.sql.SQLTimeoutException"
    served.wait_until_idle()


def test_cancel_from_another_thread(connection: Any, sql_error: Callable[..., Any], served: Served) -> None:
    statement = connection.createStatement()
    cancelled: list[float] = []

    def cancel() -> None:
        cancelled.append(time.monotonic())
        statement.cancel()

    timer = threading.Timer(1.0, cancel)
    timer.start()
    error = sql_error(statement.executeQuery, LONG_QUERY)
    assert time.monotonic() - cancelled[0] < allowed(1.5)
    assert "cancelled" in error.getMessage()
    timer.join()
    served.wait_until_idle()
    assert rows(connection.createStatement().executeQuery("SELECT 1")) == [["1"]]


def test_limits_of_a_statement(connection: Any) -> None:
    statement = connection.createStatement()
    statement.setMaxRows(17)
    statement.setFetchSize(5)
    assert len(rows(statement.executeQuery("SELECT n FROM numbers"))) == 17
    statement.setMaxRows(0)
    statement.setFetchSize(1000)
    assert len(rows(statement.executeQuery("SELECT n FROM numbers WHERE n < 2500"))) == 2500


def test_results_that_scroll_back_to_their_start(jvm: Any, connection: Any) -> None:
    kinds = jvm.java.sql.ResultSet
    statement = connection.createStatement(kinds.TYPE_SCROLL_INSENSITIVE, kinds.CONCUR_READ_ONLY)
    statement.setFetchSize(10)
    result = statement.executeQuery("SELECT n FROM numbers WHERE n < 25 ORDER BY n")
    first = rows(result)
    result.beforeFirst()
    assert rows(result) == first == [[str(number)] for number in range(25)]


def test_log_of_a_query(connection: Any) -> None:
    statement = connection.createStatement()
    statement.execute("SELECT count(*) FROM numbers")
    lines = "\n".join(statement.getQueryLog())
    assert "Compiling command(queryId=" in lines
    assert "Launching Job 1 out of 1" in lines


def test_settings_and_variables_of_the_url(connect: Connect) -> None:
    connection = connect("sasl", "other", "?shark.pool=of_the_url;my.key=k#day=2024-01-01;n=41")
    statement = connection.createStatement()
    assert rows(statement.executeQuery("SET shark.pool")) == [["shark.pool=of_the_url"]]
    assert rows(
        statement.executeQuery("SELECT x, '${day}', ${hivevar:n} + 1, '${hiveconf:my.key}' FROM elsewhere")
    ) == [["7", "2024-01-01", "42", "k"]]
    connection.setSchema("default")
    assert connection.getSchema() == "default"
    assert rows(connection.createStatement().executeQuery("SELECT count(*) FROM every")) == [["2"]]


def test_a_database_that_is_not_there(connect: Connect, sql_error: Callable[..., Any]) -> None:
    assert "Database not found nowhere" in sql_error(connect, "sasl", "nowhere").getMessage()


@pytest.mark.parametrize("transport", ["sasl", "http"])
def test_passwords(connect: Connect, locked: Served, sql_error: Callable[..., Any], transport: str) -> None:
    ada = {"user": "ada", "port": locked.port}
    assert rows(connect(transport, password="analytical", **ada).createStatement().executeQuery("SELECT 1")) == [["1"]]
    error = sql_error(lambda: connect(transport, password="wrong", **ada))
    assert error.getSQLState().strip() == "08S01"
    assert ("401" if transport == "http" else "wrong user name or password") in error.getMessage()


@pytest.fixture(scope="module")
def trust_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The certificate of the tests as the driver wants it."""
    keytool = Path(find_java().executable).resolve().parent / "keytool"
    if not keytool.exists():
        pytest.skip("this Java has no keytool")
    store = tmp_path_factory.mktemp("tls") / "trust.jks"
    options = ["-importcert", "-noprompt", "-alias", "server", "-file", str(CERTIFICATE), "-storepass", "changeit"]
    subprocess.run([str(keytool), *options, "-keystore", str(store)], check=True, capture_output=True)
    return store


@pytest.mark.variants(3)
@pytest.mark.parametrize("transport", ["sasl", "nosasl", "http"])
def test_tls(connect: Connect, warehouse: sharkpy.SharkContext, trust_store: Path, transport: str) -> None:
    config = ServerConfig(port=0, tls_cert=CERTIFICATE, tls_key=CERTIFICATE.with_suffix(".key"))
    tail = f";ssl=true;sslTrustStore={trust_store};trustStorePassword=changeit"
    with serving(warehouse, config) as secured:
        connection = connect(transport, tail=tail, port=secured.port)
        assert rows(connection.createStatement().executeQuery("SELECT count(*) FROM every")) == [["2"]]
        connection.close()


def test_tables_and_columns(jvm: Any, connection: Any) -> None:
    about = connection.getMetaData()
    found = columns(about.getTables(None, "default", "%", None), "TABLE_NAME", "TABLE_TYPE")
    assert {("every", "TABLE"), ("parts", "TABLE"), ("seen", "VIEW")} <= set(found)
    only = jvm.java.lang.reflect.Array.newInstance(jvm.java.lang.Class.forName("java.lang.String"), 1)
    only[0] = "VIEW"
    assert columns(about.getTables(None, "default", "%", only), "TABLE_NAME") == [("seen",)]
    assert {("default",), ("other",)} <= set(columns(about.getSchemas(), "TABLE_SCHEM"))
    assert columns(about.getSchemas(None, "oth%"), "TABLE_SCHEM") == [("other",)]
    found = columns(
        about.getColumns(None, "default", "parts", "%"),
        *("COLUMN_NAME", "DATA_TYPE", "TYPE_NAME", "ORDINAL_POSITION", "REMARKS"),
    )
    assert found == [("k", "4", "INT", "1", "the key"), ("v", "12", "STRING", "2", ""), ("ds", "12", "STRING", "3", "")]
    decimals = columns(about.getColumns(None, "default", "every", "d_"), "COLUMN_NAME", "COLUMN_SIZE", "DECIMAL_DIGITS")
    assert ("de", "12", "3") in decimals


def test_the_rest_of_the_metadata(connection: Any) -> None:
    about = connection.getMetaData()
    types = {name for (name,) in columns(about.getTypeInfo(), "TYPE_NAME")}
    assert {"INT", "BIGINT", "STRING", "DECIMAL", "TIMESTAMP", "DATE", "BINARY", "ARRAY", "MAP", "STRUCT"} <= types
    assert {("TABLE",), ("VIEW",)} <= set(columns(about.getTableTypes(), "TABLE_TYPE"))
    assert columns(about.getFunctions(None, None, "upper"), "FUNCTION_NAME") == [("upper",)]
    assert rows(about.getCatalogs()) in ([], [[""]])
    assert rows(about.getPrimaryKeys(None, "default", "every")) == []
    assert rows(about.getImportedKeys(None, "default", "every")) == []
    assert rows(about.getCrossReference(None, "default", "every", None, "default", "parts")) == []
    assert rows(about.getProcedures(None, None, "%")) == []
    assert about.getDatabaseProductName() == "Apache Hive"
    assert "sharkpy" in about.getDatabaseProductVersion()
    assert about.getDatabaseMajorVersion() >= 2
    assert about.getDriverName() == "Hive JDBC"
    assert about.getIdentifierQuoteString() in ("`", " ")
    assert connection.isValid(5)


def test_many_rows_in_many_threads(connect: Connect, jvm: Any) -> None:
    seen: list[int] = []
    connections = [connect(transport) for transport in URLS]

    def read(connection: Any) -> None:
        statement = connection.createStatement()
        statement.setFetchSize(100_000)
        result = statement.executeQuery("SELECT max(n), count(*) FROM (SELECT n FROM numbers) one")
        assert result.next()
        seen.append(result.getInt(2))

    threads = [threading.Thread(target=read, args=(one,)) for one in connections]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [ROWS] * len(URLS)


def test_a_continuous_table(connect: Connect, warehouse: sharkpy.SharkContext, tmp_path: Path) -> None:
    config = ServerConfig(port=0, location_folders=(tmp_path,))
    with serving(warehouse, config) as open_one, contextlib.closing(connect(port=open_one.port)) as connection:
        statement = connection.createStatement()

        def ask(text: str) -> list[list[str]]:
            return rows(statement.getResultSet()) if statement.execute(text) else []

        follow(ask, tmp_path / "in", "by_jdbc")
