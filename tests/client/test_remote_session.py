"""The shell's client against this package's server: every transport, every type, errors, progress, cancelling."""

from __future__ import annotations

import dataclasses
import datetime
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from sharkpy.base.errors import CancelledError, ExecutionError, SharkError
from sharkpy.cli.completer import SharkCompleter
from sharkpy.cli.main import main
from sharkpy.client import RemoteSession, connect_to, parse_url
from sharkpy.client.remote_session import RemoteNames
from sharkpy.client.server_errors import LoginError
from sharkpy.execution.statement import Progress
from sharkpy.thrift.config import ServerConfig
from tests.thrift.clients.served import NAMES, Served, serving
from tests.waiting import allowed, until, when

TLS = Path(__file__).parent.parent / "thrift" / "transport" / "tls"
LONG = "SELECT count(*) FROM numbers a, numbers b WHERE a.n * b.n % 7 = 3 AND a.s > b.s"


@pytest.fixture(params=["", ";auth=noSasl", ";transportMode=http;httpPath=cliservice"], ids=["sasl", "nosasl", "http"])
def session(request: pytest.FixtureRequest, served: Served) -> Iterator[RemoteSession]:
    with connect_to(parse_url(f"jdbc:hive2://127.0.0.1:{served.port}/default{request.param}")) as opened:
        yield opened


@pytest.fixture
def plain(served: Served) -> Iterator[RemoteSession]:
    with connect_to(parse_url(f"hive2://127.0.0.1:{served.port}")) as opened:
        yield opened


def test_every_type_is_as_in_process(session: RemoteSession, served: Served) -> None:
    query = f"SELECT {', '.join(NAMES)} FROM every"
    remote, local = session.sql(query).to_arrow(), served.session.sql(query).to_arrow()
    assert remote.schema.names == local.schema.names
    for name in NAMES[:-3]:
        assert remote[name].to_pylist() == local[name].to_pylist()
    assert {str(remote.schema.field(name).type) for name in NAMES[-3:]} == {"string"}
    assert remote["a"].to_pylist() == ["[1,2,null]", None]


def test_intervals_are_as_in_process(session: RemoteSession, served: Served) -> None:
    query = (
        "SELECT INTERVAL '-1-2' YEAR TO MONTH, INTERVAL '-3 04:05:06.7' DAY TO SECOND, INTERVAL '0.000001' SECOND"
        " UNION ALL SELECT NULL, NULL, INTERVAL '100000' DAY"
    )
    rows = session.sql(query).fetchall()
    assert sorted(rows, key=str) == sorted(served.session.sql(query).fetchall(), key=str)
    assert ("-1-2", -datetime.timedelta(days=3, hours=4, minutes=5, seconds=6.7), datetime.timedelta(0, 0, 1)) in rows


def test_many_rows(served: Served) -> None:
    url = dataclasses.replace(parse_url(f"hive2://127.0.0.1:{served.port}"), fetch_rows=7_000)
    with connect_to(url) as session, session.sql("SELECT n, s FROM numbers ORDER BY n") as result:
        batches = list(result.batches())
    assert len(batches) >= 4
    assert [n for batch in batches for n in batch.column(0).to_pylist()] == list(range(30_000))


def test_errors_have_place_and_hint(session: RemoteSession) -> None:
    with pytest.raises(SharkError) as raised:
        session.sql("SELECT n,\n  ss FROM numbers")
    error = raised.value
    assert (error.sqlstate, error.line, error.column) == ("42703", 2, 3)
    assert error.message.startswith("no column")
    assert error.hint is not None
    assert "did you mean" in error.hint
    assert session.sql("SELECT 1 AS x").fetchall() == [(1,)]


def test_statements_without_rows_and_the_current_database(session: RemoteSession) -> None:
    assert session.sql("USE other").columns == []
    assert session.current_database == "other"
    assert session.sql("SELECT x FROM elsewhere").fetchall() == [(7,)]
    result = session.sql("EXPLAIN SELECT x FROM elsewhere")
    assert result.is_text
    assert "== Physical plan" in str(result.fetchall()[0][0])


def test_settings_and_database_of_the_url(served: Served) -> None:
    url = parse_url(f"hive2://127.0.0.1:{served.port}/other?shark.block.rows=77")
    with connect_to(url, {"shark.block.bytes": "1000"}) as session:
        assert session.sql("SELECT x FROM elsewhere").fetchall() == [(7,)]
        assert "=77" in str(session.sql("SET shark.block.rows").fetchall())
        assert "=1000" in str(session.sql("SET shark.block.bytes").fetchall())


def test_progress_log_and_cancel(session: RemoteSession, served: Served) -> None:
    heard: list[Progress] = []
    lines: list[str] = []
    session.add_progress_listener(heard.append)
    session.log = lines.append
    timer = when(lambda: heard and lines, session.cancel)
    with pytest.raises(CancelledError) as raised:
        session.sql(LONG).fetchall()
    timer.join()
    assert raised.value.sqlstate == "57014"
    assert heard
    assert any("Stage-1" in line for line in lines)
    served.wait_until_idle()
    assert session.sql("SELECT 1 AS x").fetchall() == [(1,)]


def test_closing_a_result_ends_the_operation(plain: RemoteSession, served: Served) -> None:
    with plain.sql("SELECT n FROM numbers") as result:
        next(iter(result))
    assert [one for one in served.server.parts.sessions.operations() if one.is_running] == []


def test_passwords(locked: Served) -> None:
    address = f"127.0.0.1:{locked.port}"
    for more in ("", ";transportMode=http"):
        with connect_to(parse_url(f"hive2://ada:analytical@{address}/{more}")) as session:
            assert session.sql("SELECT 1 AS x").fetchall() == [(1,)]
        with pytest.raises(LoginError) as raised:
            connect_to(parse_url(f"hive2://ada:wrong@{address}/{more}"))
        assert raised.value.sqlstate == "28000"


@pytest.mark.variants(3)
@pytest.mark.parametrize("more", ["", ";auth=noSasl", ";transportMode=http"])
def test_tls(served: Served, more: str) -> None:
    config = ServerConfig(port=0, tls_cert=TLS / "server.crt", tls_key=TLS / "server.key")
    with serving(served.session, config) as one:
        address = f"hive2://localhost:{one.port}/;ssl=true{more}"
        with connect_to(parse_url(f"{address};sslTrustStore={TLS / 'server.crt'}")) as session:
            assert session.sql("SELECT 1 AS x").fetchall() == [(1,)]
            when(lambda: is_running(one) and session._operation is not None, session.cancel)
            with pytest.raises(CancelledError):
                session.sql(LONG).fetchall()
        with pytest.raises(ExecutionError, match="certificate"):
            connect_to(parse_url(address))
        with pytest.raises(ExecutionError):
            connect_to(parse_url(f"hive2://localhost:{one.port}/{more}"))


def test_nobody_there() -> None:
    with pytest.raises(ExecutionError) as raised:
        connect_to(parse_url("hive2://127.0.0.1:1"))
    assert raised.value.sqlstate == "08001"
    assert raised.value.message.startswith("cannot connect to hive2://127.0.0.1:1")


def test_completion(plain: RemoteSession) -> None:
    completer = SharkCompleter(RemoteNames(plain))

    def completions(text: str) -> list[str]:
        return [one.text for one in completer.get_completions(Document(text), CompleteEvent())]

    assert completions("SELECT * FROM ") == ["every", "numbers"]
    assert completions("SELECT numbers.") == ["n", "s"]
    assert completions("USE o") == ["other"]
    assert "substring" in completions("SELECT substri")
    assert completions("SELECT * FROM other.e") == ["elsewhere"]


def test_the_command_line(locked: Served, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    secret = tmp_path / "secret"
    secret.write_text("analytical\n")
    url = f"hive2://127.0.0.1:{locked.port}/default"
    arguments = ["-u", url, "-n", "ada", "--login-password-file", str(secret), "--format", "csv"]
    assert main([*arguments, "-e", "SELECT n FROM numbers WHERE n < 2 ORDER BY n"]) == 0
    assert capsys.readouterr().out == "n\n0\n1\n"
    assert main([*arguments, "-e", "SELECT nn FROM numbers"]) == 1
    error = capsys.readouterr().err.splitlines()
    assert error[0].startswith("error [42703]")
    assert error[1].index("nn") == error[2].index("^")


def test_the_password_of_the_environment(
    locked: Served, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SHARKPY_PASSWORD", "analytical")
    url = f"hive2://ada@127.0.0.1:{locked.port}"
    assert main(["-u", url, "--format", "csv", "-e", "SELECT 5 AS five"]) == 0
    assert capsys.readouterr().out == "five\n5\n"
    monkeypatch.setenv("SHARKPY_PASSWORD", "nonsense")
    assert main(["-u", url, "-e", "SELECT 5"]) == 1
    assert "error [28000]" in capsys.readouterr().err


def is_running(served: Served) -> bool:
    return any(one.is_running for one in served.server.parts.sessions.operations())


def test_cancelling_is_quick(plain: RemoteSession, served: Served) -> None:
    ended: list[float] = []

    def run() -> None:
        with pytest.raises(CancelledError):
            plain.sql(LONG).fetchall()
        ended.append(time.monotonic())

    plain.sql("SELECT count(*) FROM numbers").fetchall()
    thread = threading.Thread(target=run)
    thread.start()
    until(lambda: is_running(served) and plain._operation is not None)
    started = time.monotonic()
    plain.cancel()
    thread.join()
    assert ended[0] - started < allowed(3.0)
