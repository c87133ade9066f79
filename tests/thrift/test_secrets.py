"""Secrets that clients set: in no log, page or answer, and only for their own session."""

from __future__ import annotations

import re
import urllib.request
from typing import Any

from tests.thrift.caller import ERROR, SUCCESS, Caller, columns_of
from tests.thrift.conftest import LONG_QUERY, Serve
from tests.waiting import until

KEY = "fs.s3a.secret.key"
SECRET = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"


def read(address: str) -> str:
    with urllib.request.urlopen(address) as answer:
        return str(answer.read().decode())


def page_of(caller: Caller, operation: Any) -> str:
    """Address of the page of an operation, which its log tells once it has taken long enough."""
    log: list[str] = []

    def is_told() -> bool:
        log.extend(columns_of(caller.fetch(operation, log=True))[0])
        return "Tracking URL" in "".join(log)

    until(is_told)
    [address] = re.findall(r"Tracking URL = (\S+)", "\n".join(log))
    return str(address)


def test_logs_pages_and_answers(serve: Serve) -> None:
    server = serve()
    given = {f"set:hiveconf:fs.s3a.bucket.b.{name}": SECRET for name in ("access.key", "secret.key")}
    with Caller(server.port, configuration=given) as caller:
        assert caller.opened.status.statusCode == SUCCESS
        handle = caller.begin(f"SET {KEY}={SECRET}")
        caller.until_ended(handle)
        log = columns_of(caller.fetch(handle, log=True))[0]
        assert any(f"SET {KEY}=***" in line for line in log)
        failed = caller.execute(f"SELECT nothing FROM numbers WHERE s <> 's3a://id:{SECRET}@b/x'")
        malformed = caller.execute(f"CREATE EXTERNAL TABLE x (a INT) LOCATION 's3a://id:{SECRET}@b/x'")
        assert [answer.status.statusCode for answer in (failed, malformed)] == [ERROR, ERROR]
        overlaid = caller.rows("SET", confOverlay={"fs.azure.account.key.me.dfs.core.windows.net": SECRET})[0]
        assert "fs.azure.account.key.me.dfs.core.windows.net=***" in overlaid
        listed = caller.rows("SET -v")[0]
        assert sum(line.split("  --")[0].endswith("=***") for line in listed) == 3
        queries = [column for column in caller.rows("SHOW QUERIES") if column]
        running = caller.begin(f"{LONG_QUERY} AND a.s <> 's3a://id:{SECRET}@b/x'")
        pages = [
            read(page_of(caller, running)),
            read(f"http://127.0.0.1:{server.port}/queries"),
            read(f"http://127.0.0.1:{server.port}/metrics"),
            *(
                read(f"http://127.0.0.1:{server.port}/queries/{one.query_id}")
                for one in server.parts.engine_session.history(None)
            ),
        ]
        caller.cancel(running)
        assert "s3a://***@b/x" in pages[0]
        told = [*log, *overlaid, *listed, *map(str, queries), *pages, str(failed), str(malformed)]
        assert not [text for text in told if SECRET in text]


def test_a_sessions_secrets_are_its_own(serve: Serve) -> None:
    server = serve()
    with Caller(server.port) as caller, Caller(server.port) as other:
        assert caller.execute(f"SET {KEY}={SECRET}").status.statusCode == SUCCESS
        assert caller.rows(f"SET {KEY}") == [[f"{KEY}=***"]]
        assert other.rows(f"SET {KEY}") == [[f"{KEY}="]]


def test_a_client_names_no_address(serve: Serve) -> None:
    with Caller(serve().port) as caller:
        for text in ("SET fs.s3a.endpoint=127.0.0.1:9000", "SET fs.s3a.bucket.b.endpoint=127.0.0.1:9000"):
            answer = caller.execute(text).status
            assert (answer.statusCode, answer.sqlState) == (ERROR, "42501")
    with Caller(serve(allows_connections=True).port) as caller:
        assert caller.execute("SET fs.s3a.endpoint=127.0.0.1:9000").status.statusCode == SUCCESS
        answer = caller.execute("SET fs.s3a.endpoint=169.254.169.254").status
        assert (answer.statusCode, answer.sqlState) == (ERROR, "22023")
    given = {"set:hiveconf:fs.s3a.endpoint": "127.0.0.1:9000"}
    with Caller(serve().port, configuration=given) as caller:
        assert caller.opened.status.sqlState == "42501"
