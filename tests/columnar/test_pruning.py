"""Pruning never drops a block that holds a row for which the predicate is true."""

from __future__ import annotations

import datetime
import operator
from collections.abc import Callable
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sharkpy.columnar.block import encode_block
from sharkpy.columnar.pruning import (
    And,
    Compare,
    InSet,
    IsNotNull,
    IsNull,
    LikePrefix,
    Mapped,
    Not,
    Or,
    Predicate,
    Unknown,
    prune,
)
from sharkpy.columnar.statistics_table import StatisticsTable
from sharkpy.values import types as t
from tests.examples import examples

DECIMAL = t.DecimalType(8, 2)
SCHEMA = t.Schema(
    (
        t.Field("i", t.INT),
        t.Field("n", DECIMAL),
        t.Field("f", t.DOUBLE),
        t.Field("s", t.STRING),
        t.Field("d", t.DATE),
        t.Field("ts", t.TIMESTAMP),
        t.Field("b", t.BOOLEAN),
        t.Field("a", t.ArrayType(t.INT)),
    )
)
EPOCH = datetime.datetime(1970, 1, 1)
_days = st.integers(-800, 800).map(lambda n: EPOCH.date() + datetime.timedelta(days=n))
_times = st.integers(-(10**9), 10**9).map(lambda n: EPOCH + datetime.timedelta(milliseconds=n))
_texts = st.text("abé\0\U0001f600z", max_size=4) | st.sampled_from(
    ["aaaaaaaaaaaaaaaab", "aaaaaaaaaaaaaaaaz", "ab" * 200]
)
_floats = st.sampled_from([0.0, -0.0, 1.5, -2.25, 1e300, float("inf"), float("-inf")]) | st.integers(-9, 9).map(float)
VALUES: dict[str, st.SearchStrategy[object]] = {
    "i": st.integers(-20, 20),
    "n": st.integers(-300, 300).map(lambda n: Decimal(n).scaleb(-2)),
    "f": _floats | st.just(float("nan")),
    "s": _texts,
    "d": _days,
    "ts": _times,
    "b": st.booleans(),
    "a": st.lists(st.integers(0, 3), max_size=2),
}
OPERATORS: dict[str, Callable[[object, object], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
MAPPED: dict[Mapped, tuple[Callable[[object], object], st.SearchStrategy[object]]] = {
    Mapped("year", "d"): (lambda v: v.year, st.integers(1967, 1973)),
    Mapped("year", "ts"): (lambda v: v.year, st.integers(1967, 1973)),
    Mapped("to_date", "ts"): (lambda v: v.date(), _days),
    Mapped("month_trunc", "d"): (lambda v: v.replace(day=1), _days),
    Mapped("date_trunc", "ts", "hour"): (lambda v: v.replace(minute=0, second=0, microsecond=0), _times),
    Mapped("substr", "s", 2): (lambda v: v[:2], _texts),
    Mapped("substr", "s", 20): (lambda v: v[:20], _texts),
    Mapped("cast", "i", t.BIGINT): (lambda v: v, st.integers(-20, 20)),
    Mapped("cast", "i", t.DecimalType(10, 3)): (Decimal, st.integers(-20000, 20000).map(lambda n: Decimal(n) / 1000)),
    Mapped("cast", "n", t.INT): (int, st.integers(-4, 4)),
    Mapped("cast", "n", t.DOUBLE): (float, st.integers(-300, 300).map(lambda n: n / 100)),
    Mapped("cast", "d", t.TIMESTAMP): (lambda v: datetime.datetime(v.year, v.month, v.day), _times),
    Mapped("cast", "d", "string"): (str, _days.map(str) | _texts),
    Mapped("upper", "s"): (lambda v: v.upper(), _texts),
}


def _code_points(value: object) -> object:
    return value.encode("utf-8") if isinstance(value, str) else value


def holds(predicate: Predicate, row: dict[str, object]) -> bool | None:
    """Truth of a predicate for one row, three-valued. Comparisons with NaN may go either way: counted as true."""

    def operand(column: str | Mapped) -> object:
        if isinstance(column, str):
            return row[column]
        value = row[column.column]
        return None if value is None else MAPPED[column][0](value)

    match predicate:
        case Unknown():
            return True
        case IsNull(column):
            return operand(column) is None
        case IsNotNull(column):
            return operand(column) is not None
        case Compare(column, op, value):
            found = operand(column)
            return None if found is None or value is None else OPERATORS[op](_code_points(found), _code_points(value))
        case LikePrefix(column, prefix):
            found = operand(column)
            return None if found is None else str(found).startswith(prefix)
        case InSet(column, values):
            found = operand(column)
            if found is None:
                return None
            return True if found in [v for v in values if v is not None] else (None if None in values else False)
        case Not(inner):
            result = holds(inner, row)
            return None if result is None else not result
        case And(operands):
            results = [holds(each, row) for each in operands]
            return False if False in results else (None if None in results else True)
        case Or(operands):
            results = [holds(each, row) for each in operands]
            return True if True in results else (None if None in results else False)


def leaves() -> st.SearchStrategy[Predicate]:
    columns = [name for name in SCHEMA.names if name != "a"]
    options: list[st.SearchStrategy[Predicate]] = []
    for column, values in [*((name, VALUES[name]) for name in columns), *((m, v[1]) for m, v in MAPPED.items())]:
        values = values.filter(lambda value: value == value)
        options.append(
            st.builds(Compare, st.just(column), st.sampled_from(list(OPERATORS)), values | st.none())
            | st.builds(InSet, st.just(column), st.lists(values | st.none(), max_size=4).map(tuple))
        )
    texts = st.just("s") | st.just(Mapped("substr", "s", 2))
    options.append(st.builds(LikePrefix, texts, _texts))
    options.append(
        st.builds(Compare, st.just("i"), st.sampled_from(list(OPERATORS)), st.sampled_from([2.5, -0.5, 10**30]))
    )
    nullable = st.sampled_from(SCHEMA.names)
    options.append(st.builds(IsNull, nullable) | st.builds(IsNotNull, nullable) | st.just(Unknown()))
    return st.one_of(options)


def predicates() -> st.SearchStrategy[Predicate]:
    return st.recursive(
        leaves(),
        lambda inner: (
            st.builds(Not, inner)
            | st.builds(And, st.lists(inner, max_size=3).map(tuple))
            | st.builds(Or, st.lists(inner, max_size=3).map(tuple))
        ),
        max_leaves=5,
    )


@st.composite
def tables(draw: st.DrawFn) -> list[list[dict[str, object]]]:
    """Draw blocks of rows; many repeat a value, so that distinct sets and constant blocks occur."""
    blocks = []
    for _ in range(draw(st.integers(1, 4))):
        rows = draw(st.integers(0, 4))
        columns = {}
        for name in SCHEMA.names:
            pool = draw(st.lists(VALUES[name] | st.none(), min_size=1, max_size=2))
            columns[name] = [draw(st.sampled_from(pool)) for _ in range(rows)]
        blocks.append([{name: columns[name][row] for name in SCHEMA.names} for row in range(rows)])
    return blocks


def gather(blocks: list[list[dict[str, object]]]) -> StatisticsTable:
    statistics = []
    for rows in blocks:
        arrow = {f.name: pa.array([row[f.name] for row in rows], t.to_arrow(f.dtype)) for f in SCHEMA}
        statistics.append(encode_block(pa.table(arrow), SCHEMA).statistics)
    return StatisticsTable.of(SCHEMA, statistics)


@settings(max_examples=examples(400), deadline=None)
@given(tables(), st.lists(predicates(), min_size=8, max_size=12))
def test_never_drops_a_block_with_a_true_row(blocks: list[list[dict[str, object]]], tests: list[Predicate]) -> None:
    stats = gather(blocks)
    for predicate in tests:
        kept = prune(stats, predicate)
        for rows, keep in zip(blocks, kept, strict=True):
            if not keep:
                assert not any(holds(predicate, row) for row in rows), predicate


def numbers(*blocks: list[int | None]) -> StatisticsTable:
    schema = t.Schema((t.Field("x", t.BIGINT),))
    tables = [pa.table({"x": pa.array(block, pa.int64())}) for block in blocks]
    return StatisticsTable.of(schema, [encode_block(table, schema).statistics for table in tables])


def words(*blocks: list[str | None]) -> StatisticsTable:
    schema = t.Schema((t.Field("x", t.STRING),))
    tables = [pa.table({"x": pa.array(block, pa.string())}) for block in blocks]
    return StatisticsTable.of(schema, [encode_block(table, schema).statistics for table in tables])


@pytest.mark.parametrize(
    ("predicate", "kept"),
    [
        (Compare("x", "=", 5), [True, False, False, False]),
        (Compare("x", "=", 4), [False, False, False, False]),
        (Compare("x", "<>", 20), [True, True, False, False]),
        (Not(Compare("x", "=", 20)), [True, True, False, False]),
        (Compare("x", ">", 9), [False, True, True, False]),
        (Compare("x", ">=", 9), [True, True, True, False]),
        (Compare("x", "<", 4), [True, False, False, False]),
        (Compare("x", "<=", 3), [True, False, False, False]),
        (Compare("x", ">", 19), [False, False, True, False]),
        (Compare("x", "<", 3), [False, False, False, False]),
        (Compare("x", "<=", 2.5), [False, False, False, False]),
        (InSet("x", (7, 20)), [True, False, True, False]),
        (Not(InSet("x", (20, 21))), [True, True, False, False]),
        (Not(InSet("x", (1, None))), [False, False, False, False]),
        (IsNull("x"), [False, True, False, True]),
        (IsNotNull("x"), [True, True, True, False]),
        (And((Compare("x", ">=", 4), Compare("x", "<=", 4))), [True, False, False, False]),
        (Compare("x", "=", None), [False, False, False, False]),
        (Or((Compare("x", "=", 5), IsNull("x"))), [True, True, False, True]),
        (Not(Unknown()), [True, True, True, True]),
    ],
)
def test_numbers(predicate: Predicate, kept: list[bool]) -> None:
    stats = numbers([3, 5, 7, 9], [12, None, 14], [20, 20], [None])
    assert prune(stats, predicate).tolist() == kept


@pytest.mark.parametrize(
    ("predicate", "kept"),
    [
        (LikePrefix("x", "ap"), [True, False]),
        (LikePrefix("x", "apx"), [False, False]),
        (Not(LikePrefix("x", "p")), [True, False]),
        (Compare("x", "=", "avocado"), [False, False]),
        (Compare("x", ">", "c"), [False, True]),
        (Compare(Mapped("substr", "x", 2), "=", "pe"), [False, True]),
        (InSet("x", ("pear", "fig")), [False, True]),
        (Compare(Mapped("lower", "x"), "=", "pe"), [True, True]),
    ],
)
def test_words(predicate: Predicate, kept: list[bool]) -> None:
    assert prune(words(["apple", "apricot", "banana"], ["peach", "pear"]), predicate).tolist() == kept


def test_common_long_prefixes_keep_blocks() -> None:
    stats = words(*([f"Customer#{key:012}" for key in range(first, first + 100)] for first in (0, 800)))
    assert prune(stats, Compare("x", "=", "Customer#000000000850")).tolist()[1]
    assert prune(stats, Compare("x", "=", "Customer#900000000850")).tolist() == [False, False]


def test_bounds_longer_than_what_is_compared_keep_blocks() -> None:
    stats = words(["a" * 16 + "z"] + [f"a{index}" for index in range(80)])
    for op, value in ((">", "a" * 16), (">=", "a" * 16 + "z"), ("=", "a" * 16 + "z"), ("<", "a" * 16 + "zz")):
        assert prune(stats, Compare("x", op, value)).tolist() == [True]


def test_characters_of_several_bytes_are_cut_as_characters() -> None:
    stats = words([f"é{index}" for index in range(80)])
    assert prune(stats, Compare(Mapped("substr", "x", 1), ">=", "é")).tolist() == [True]


def test_nan_keeps_blocks() -> None:
    schema = t.Schema((t.Field("x", t.DOUBLE),))
    stats = StatisticsTable.of(schema, [encode_block(pa.table({"x": [1.0, float("nan")]}), schema).statistics])
    for predicate in (Compare("x", ">", 5.0), Not(Compare("x", "<=", 5.0)), Not(InSet("x", (1.0,)))):
        assert prune(stats, predicate).tolist() == [True]


def test_empty_table_and_empty_block() -> None:
    assert prune(numbers(), Compare("x", "=", 1)).tolist() == []
    assert prune(numbers([]), Unknown()).tolist() == [False]


def test_totals() -> None:
    stats = numbers([3, 5, None], [None], [-7, 9])
    assert (stats.count(), stats.count_valid("x")) == (6, 4)
    assert stats.minimum("x").value == -7
    assert stats.maximum("x").value == 9
    assert numbers([None]).minimum("x").value is None
    assert words(["b", "ä" * 300]).maximum("x") is None


def test_totals_with_nan_are_not_told() -> None:
    schema = t.Schema((t.Field("x", t.DOUBLE),))
    block = encode_block(pa.table({"x": [1.0, float("nan")]}), schema).statistics
    assert StatisticsTable.of(schema, [block]).maximum("x") is None


def test_concat_and_take_match_of() -> None:
    parts = [numbers([1, 2]), numbers([2, 2], [None])]
    joined, whole = StatisticsTable.concat(parts), numbers([1, 2], [2, 2], [None])
    for predicate in (Compare("x", "=", 2), Compare("x", "<>", 2), IsNull("x")):
        assert prune(joined, predicate).tolist() == prune(whole, predicate).tolist()
        assert prune(whole.take(np.array([2, 0])), predicate).tolist() == prune(whole, predicate)[[2, 0]].tolist()
    assert whole.num_distinct("x") == 2
