"""Patterns made to take for ever, in statements: answered, or refused within seconds by an error that names them."""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

import sharkpy
from sharkpy.base.errors import SharkError
from tests.waiting import allowed

LINEAR = {
    "^(a+)+$": "a" * 40 + "b",
    "(x+x+)+y": "x" * 20_000,
    "(?:a?){30}a{30}": "a" * 29,
    "(.*)(.*)(.*)(.*)(.*)(.*)(.*)(.*)(.*)[^a]": "a" * 2000,
    "^(\\w+\\s?)*$": "a" * 60 + "!",
    "[ab]*a[ab]{300}c": "ab" * 1000,
}
"""Patterns for RE2, which answers."""
TRIED = {
    "(?:(a|aa|aaa|a)+(?=a)\\1?)+b$": "b" + "a" * 60 + "c",
    "(?<=(a|b)c)d|^(a|aa)+(?=c)$": "a" * 70 + "c",
    "(?:a++|a?)*+(a|aa)+(?=c)b": "b" + "a" * 60 + "c",
}
EVIL = LINEAR | TRIED
CALLS = ("rlike", "regexp_replace", "regexp_extract", "split", "regexp_count", "regexp_extract_all")
PLACES = ("constant", "column", "column of patterns")
QUICK = {(pattern, "rlike", place) for pattern in LINEAR for place in PLACES[:2]} | {
    *((pattern, call, "column") for pattern, call in zip(EVIL, itertools.cycle(CALLS), strict=False)),
    *((next(iter(TRIED)), "rlike", place) for place in PLACES),
}
"""Cases of `make test`."""


@pytest.mark.variants(3)
@pytest.mark.parametrize(
    ("pattern", "call", "place"),
    [
        pytest.param(*case, marks=() if case in QUICK else pytest.mark.slow)
        for case in itertools.product(EVIL, CALLS, PLACES)
    ],
)
def test_evil_patterns_end(context: sharkpy.SharkContext, pattern: str, call: str, place: str) -> None:
    given = "'" + pattern.replace("\\", "\\\\") + "'"
    text = f"'{EVIL[pattern]}'" if place == "constant" else "s"
    more = {"regexp_replace": ", '$0'", "regexp_extract": ", 0", "regexp_extract_all": ", 0"}.get(call, "")
    used = "p" if place == "column of patterns" else given
    called = f"{text} RLIKE {used}" if call == "rlike" else f"{call}({text}, {used}{more})"
    varying = "substr(uuid(), 1, 0)"
    rows = f"(SELECT concat('{EVIL[pattern]}', {varying}) AS s, concat({given}, {varying}) AS p) t"
    began = time.monotonic()
    error = None
    try:
        context.sql(f"SELECT {called} FROM {rows}").fetchall()
    except SharkError as caught:
        error = caught
    taken = time.monotonic() - began
    if error is not None:
        assert error.sqlstate == "54001"
        assert pattern in error.message
        assert pattern in TRIED or place == "column of patterns" or call != "rlike", error
    assert taken < allowed(3)


@pytest.mark.variants(3)
@pytest.mark.parametrize(
    "statements",
    [
        ("SHOW FUNCTIONS '(([a-z_])+.?)+(?=[A-Z])([a-z_])+'",),
        ("SET hive.support.quoted.identifiers=none", "SELECT `(?=a)(a|aa|aaa|a)+(?=c)` FROM long_name"),
        ("SELECT * FROM by_regex",),
        ("SHOW TABLES LIKE '*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b'",),
    ],
    ids=["functions", "columns", "serde", "tables"],
)
def test_evil_patterns_elsewhere_end(context: sharkpy.SharkContext, tmp_path: Path, statements: Sequence[str]) -> None:
    serde = "ROW FORMAT SERDE 'org.apache.hadoop.hive.serde2.RegexSerDe'"
    (tmp_path / "lines").write_text("b" + "a" * 60 + "\n")
    context.sql(f"CREATE TABLE IF NOT EXISTS {'a' * 100} (x INT)")
    context.sql(f"CREATE TEMPORARY VIEW long_name AS SELECT 1 AS {'a' * 60}")
    context.sql(
        f"CREATE TABLE by_regex (x STRING) {serde} WITH SERDEPROPERTIES ('input.regex'='(?=b)b((a|aa|a)+)(?=c)')"
    )
    context.sql(f"LOAD DATA LOCAL INPATH '{tmp_path / 'lines'}' INTO TABLE by_regex")
    began = time.monotonic()
    error = None
    try:
        for statement in statements:
            context.sql(statement).fetchall()
    except SharkError as caught:
        error = caught
    finally:
        context.sql("DROP VIEW long_name")
        context.sql("DROP TABLE by_regex")
        context.sql("RESET hive.support.quoted.identifiers")
    assert error is None or error.sqlstate in ("54001", "42703")
    assert time.monotonic() - began < allowed(5)
