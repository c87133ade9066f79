"""parse_url by DuckDB's regular expressions answers as the kernel does."""

from __future__ import annotations

import duckdb
import pytest

from sharkpy.udf.duckdb_sql import quote_string
from sharkpy.udf.text_codes import parse_url
from sharkpy.udf.url_functions import lower_parse_url

URLS = [
    "http://user:pw@example.com:8080/a/b.html?k=1&key=v%20x&k=2#ref",
    "https://example.com",
    "HTTP://Example.com/?",
    "http://example.com/p#",
    "http:///path",
    "ftp://h/x?key=",
    "mailto:me@example.com",
    "file:/tmp/x",
    "http://a@b@c:/q?key",
    "s3://bucket/key",
    "htttp://typo/",
    "no url",
    "http://h/{brace}?a={0}",
    "",
    "http://h/line\nbreak?a=\n&key=é",
]
PARTS = ["PROTOCOL", "HOST", "PATH", "QUERY", "REF", "AUTHORITY", "FILE", "USERINFO", "host", "NOPE"]
KEYS = ["", "key", "k", "k.y"]


@pytest.mark.parametrize("part", PARTS)
def test_same_as_kernel(connection: duckdb.DuckDBPyConnection, part: str) -> None:
    for key in KEYS:
        expected = {url: parse_url(url, part, key) for url in URLS}
        names = ", ".join(f"({quote_string(url)})" for url in URLS)
        sql = lower_parse_url("u", quote_string(part), quote_string(key))
        found = connection.execute(f"SELECT u, {sql} FROM (VALUES {names}) t(u)").fetchall()
        assert dict(found) == expected, key
        constants = ", ".join(lower_parse_url(quote_string(url), quote_string(part), quote_string(key)) for url in URLS)
        assert connection.execute(f"SELECT {constants}").fetchall() == [tuple(expected.values())], key


def test_unknown_urls_are_null(connection: duckdb.DuckDBPyConnection) -> None:
    sql = lower_parse_url("u", "'HOST'", None)
    assert connection.execute(f"SELECT {sql} FROM (SELECT CAST(NULL AS VARCHAR) AS u)").fetchall() == [(None,)]
