"""Values over `shark.value.bytes` are refused before they are made: of constants, and of columns."""

from __future__ import annotations

import re
import resource
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import sharkpy
from sharkpy.udf.value_limit import HINT
from tests.waiting import allowed

LIMIT = 1 << 20
TOO_LARGE = [
    ("repeat", "repeat(text, 2000000)"),
    ("repeat", "repeat('xyz', number)"),
    ("repeat", "upper(repeat(trim(text), length(text) * number))"),
    ("repeat", "repeat('x', cast(number + rand() as int))"),
    ("space", "space(number)"),
    ("lpad", "lpad(text, number, 'ab')"),
    ("rpad", "rpad(text, number)"),
    ("concat", "concat(large, text, large)"),
    ("concat", "concat(concat(large, text), concat(text, large))"),
    ("concat", "large || aggregate(array('a'), large, (total, x) -> concat(total, x))"),
    ("concat_ws", "concat_ws(',', large, cast(null as string), large)"),
    ("concat_ws", "concat_ws(large, 'a', 'b', 'c')"),
    ("array_join", "array_join(array_repeat('x', 200), large)"),
    ("concat_ws", "concat_ws(large, array_repeat('x', 200))"),
    ("overlay", "overlay(large, large, 3)"),
    ("replace", "replace(large, 'a', '12')"),
    ("regexp_replace", "regexp_replace(large, 'a', '12')"),
    ("translate", "translate(large, 'a', '€')"),
    ("hex", "hex(large)"),
    ("base64", "base64(cast(large as binary))"),
    ("url_encode", "url_encode(repeat('€', 200000))"),
    ("split", "size(split(large, 'a'))"),
    ("str_to_map", "size(str_to_map(large, 'a', ':'))"),
    ("array_repeat", "array_repeat(text, number)[1]"),
    ("array_repeat", "flatten(array_repeat(array_repeat('a', 3000), 3000))[1]"),
    ("array_insert", "array_insert(array(1), number, 2)[1]"),
    ("sequence", "sequence(1, number)[1]"),
    ("sequence", "sequence(date '0001-01-01', date '2400-01-01')[1]"),
    ("sequence", "sequence(timestamp '2024-01-01 00:00:00', timestamp '2024-03-01 00:00:00', interval '1' second)[1]"),
    ("transform", "transform(sequence(1, 1000), x -> large)[1]"),
    ("concat", "aggregate(sequence(1, 40), 'x', (total, x) -> concat(total, total))"),
    ("printf", "printf('%2000000d', number)"),
    ("printf", "printf('%.2000000f', 1.5)"),
    ("printf", "printf(concat('%1$s', '%1$s'), large)"),
    ("format_number", "format_number(1.5, number)"),
]
"""Function -> a call over columns text 'xyz', large 'aaa…' of 700,000 letters, number 2,000,000."""


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sharkpy.SharkContext]:
    folder: Path = tmp_path_factory.mktemp("values")
    context = sharkpy.connect(warehouse=str(folder), **{"shark.value.bytes": LIMIT})
    context.sql("CREATE TABLE given AS SELECT 'xyz' AS text, 2000000 AS number, repeat('a', 700000) AS large")
    yield context
    context.stop()


def _error(session: sharkpy.SharkContext, statement: str) -> sharkpy.SharkError:
    start = time.perf_counter()
    with pytest.raises(sharkpy.SharkError) as error:
        session.sql(statement).fetchall()
    assert time.perf_counter() - start < allowed(2)
    return error.value


@pytest.mark.variants(3)
@pytest.mark.parametrize(("function", "call"), TOO_LARGE)
def test_a_large_value_of_columns_is_refused(session: sharkpy.SharkContext, function: str, call: str) -> None:
    _check(_error(session, f"SELECT {call} FROM given"), function)


@pytest.mark.variants(3)
@pytest.mark.parametrize(("function", "call"), TOO_LARGE)
def test_a_large_value_of_constants_is_refused(session: sharkpy.SharkContext, function: str, call: str) -> None:
    for column, constant in (("text", "'xyz'"), ("number", "2000000"), ("large", "repeat('a', 700000)")):
        call = re.sub(rf"\b{column}\b", constant, call)
    _check(_error(session, f"SELECT {call}"), function)


def _check(error: sharkpy.SharkError, function: str) -> None:
    assert error.sqlstate == "54000"
    assert error.message.startswith(f"{function} would make a value of ")
    assert error.message.endswith(f" bytes, more than the {LIMIT} that one value may have")
    assert error.hint == HINT


@pytest.mark.parametrize(
    ("call", "length"),
    [
        ("concat(large, text)", 700_003),
        ("repeat('x', cast(number / 2 as int))", 1_000_000),
        ("lpad(text, cast(number / 2 as int), 'x')", 1_000_000),
        ("replace(large, 'b', '12345')", 700_000),
        ("concat(regexp_replace(large, '(b)', '$1-$1'), 'x')", 700_001),
        ("concat(split(large, ',')[0], 'x')", 700_001),
        ("concat_ws('', array(large, 'x'))", 700_001),
        ("format_number(1.5, 2000)", 2002),
        ("printf('%.2000f', 1.5)", 2002),
    ],
)
def test_what_is_not_larger_is_made(session: sharkpy.SharkContext, call: str, length: int) -> None:
    """This also holds if the first bound is above the limit."""
    assert session.sql(f"SELECT length({call}) FROM given").fetchall() == [(length,)]


def test_a_row_is_one_value_more(session: sharkpy.SharkContext) -> None:
    error = _error(session, "SELECT concat(large, text), concat(text, large) FROM given")
    assert error.sqlstate == "54000"
    assert error.message.startswith("the row would make a value of 1400006 bytes")


def test_a_chain_of_doublings_ends(session: sharkpy.SharkContext) -> None:
    query = "SELECT text AS x FROM given"
    for _ in range(40):
        query = f"SELECT concat(x, x) AS x FROM ({query}) AS doubled"
    assert _error(session, query).sqlstate == "54000"


def test_folding_makes_no_large_literals(session: sharkpy.SharkContext) -> None:
    plan = "\n".join(line for (line,) in session.sql("EXPLAIN SELECT repeat('x', 500000) AS x").fetchall())
    assert len(plan) < 10_000


def test_the_setting_is_checked() -> None:
    with pytest.raises(sharkpy.SharkError, match=r'"10" is not a value of shark\.value\.bytes'):
        sharkpy.connect(**{"shark.value.bytes": 10})


MANY = [
    ("repeat", "repeat(text, number)"),
    ("rpad", "rpad(text, number, 'ab')"),
    ("rpad", "rpad(text, 800000)"),
    ("concat", "concat(repeat(text, 120000), repeat(text, 120000))"),
    ("array_repeat", "size(array_repeat(text, number))"),
]
"""Function -> a call whose values are each below the limit, and too large for each row of a batch."""


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sharkpy.SharkContext]:
    """Rows of text 'xyz' and number 600,000, with 256 MB for each value."""
    context = sharkpy.connect(warehouse=str(tmp_path_factory.mktemp("many")))
    context.sql(
        "CREATE TABLE given AS SELECT 'xyz' AS text, 600000 + id % 2 AS number, id FROM "
        "(SELECT explode(sequence(1, 10000)) AS id) t"
    )
    yield context
    context.stop()


@pytest.mark.parametrize(("function", "call"), MANY)
def test_values_that_are_large_together_are_refused(many: sharkpy.SharkContext, function: str, call: str) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    error = _error(many, f"SELECT max({call}) FROM given")
    assert error.sqlstate == "54000"
    assert re.match(rf"{function} would make \d+ bytes for \d+ rows at once, more than the 1073741824 ", error.message)
    assert error.hint == HINT
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 3 << 20


def test_a_bound_that_is_far_off_refuses_no_batch(many: sharkpy.SharkContext) -> None:
    """A text could be all delimiters: 612 kB for each row, of which 72 kB are made."""
    query = "SELECT max(size(split(repeat(lower(text), 12000), 'y'))) FROM given WHERE id <= 2100"
    assert many.sql(query).fetchall() == [(12_001,)]


def test_a_few_large_values_are_made(many: sharkpy.SharkContext) -> None:
    query = "SELECT count(*), min(length(repeat(text, number * 2))) FROM given WHERE id <= 100"
    assert many.sql(query).fetchall() == [(100, 3_600_000)]


def test_a_higher_limit_of_a_value_is_one_of_a_batch(tmp_path: Path) -> None:
    with sharkpy.connect(warehouse=tmp_path / "w", **{"shark.value.bytes": 400 << 20}) as context:
        query = "SELECT max(length(repeat(concat('x', id), 200000))) FROM (SELECT explode(sequence(1, 2048)) AS id) t"
        assert context.sql(query).fetchall() == [(1_000_000,)]
