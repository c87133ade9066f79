"""Kernels: the vector machine over blocks makes the same groups as an evaluation row by row."""

from __future__ import annotations

import functools
import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sharkpy.base.errors import InternalError
from sharkpy.columnar.block import Block, encode_block
from sharkpy.execution.tasks import machine_work
from sharkpy.execution.tasks.kernel_rows import kernel_rows
from sharkpy.execution.tasks.kernel_steps import machine_program
from sharkpy.execution.tasks.lookup_tables import lookup_table
from sharkpy.physical.kernel_code import NULL_CODE, Code, column_code, constant_code
from sharkpy.physical.stage_program import BlockColumns, GroupKey, KernelColumns, Lookup, RowFilter
from sharkpy.values import types as t
from tests.examples import examples

Row = dict[str, int | None]
_SCHEMA = t.Schema(
    (
        t.Field("a", t.INT),
        t.Field("b", t.BIGINT),
        t.Field("c", t.SMALLINT),
        t.Field("d", t.DATE),
        t.Field("e", t.BOOLEAN),
    )
)
_FORMS = ("INTEGER", "BIGINT", "SMALLINT", "INTEGER", "")
BLOCKS = BlockColumns("in0", _SCHEMA.names, _SCHEMA.names, _SCHEMA, _FORMS)
_BINARY: dict[str, Callable[[int, int], int]] = {
    "add": lambda x, y: x + y,
    "subtract": lambda x, y: x - y,
    "multiply": lambda x, y: x * y,
    "equal": lambda x, y: x == y,
    "not_equal": lambda x, y: x != y,
    "less": lambda x, y: x < y,
    "less_equal": lambda x, y: x <= y,
}


def value(code: Code, row: Row) -> int | None:
    """Evaluate a calculation for one row."""
    if code.op == "column":
        return row[code.name]
    if code.op == "constant":
        return code.number
    if code.op == "null":
        return None
    args = [value(arg, row) for arg in code.args]
    match code.op:
        case "and":
            return 0 if 0 in args else None if None in args else 1
        case "or":
            return 1 if 1 in args else None if None in args else 0
        case "not":
            return None if args[0] is None else 1 - args[0]
        case "is_null":
            return int(args[0] is None)
        case "choose":
            return args[1] if args[0] == 1 else args[2]
    left, right = args
    return None if left is None or right is None else int(_BINARY[code.op](left, right))


def expected(kernel: KernelColumns, rows: Sequence[Row]) -> list[tuple[int | None, ...]]:
    groups = defaultdict[tuple[int | None, ...], list[Row]](list)
    if not kernel.keys:
        groups[()] = []
    for row in rows:
        if all(value(one, row) == 1 for one in kernel.conditions):
            groups[tuple(value(key.code, row) for key in kernel.keys)].append(row)
    return sorted(
        ((*key, *(aggregate(code, found) for _, code in kernel.aggregates)) for key, found in groups.items()), key=repr
    )


def aggregate(code: Code, rows: Sequence[Row]) -> int | None:
    values = [one for one in (value(code.args[0], row) for row in rows) if one is not None]
    match code.op:
        case "count":
            return len(values)
        case "sum":
            return sum(values) if values else None
        case "min":
            return min(values, default=None)
    return max(values, default=None)


def blocks_of(rows: Sequence[Row], sizes: Sequence[int], encoding: str = "") -> list[Block]:
    found, start = list[Block](), 0
    while start < len(rows):
        part = rows[start : start + sizes[len(found) % len(sizes)]]
        start += len(part)
        arrays = {
            "a": pa.array([row["a"] for row in part], pa.int32()),
            "b": pa.array([row["b"] for row in part], pa.int64()),
            "c": pa.array([row["c"] for row in part], pa.int16()),
            "d": pa.array([row["d"] for row in part], pa.int32()).cast(pa.date32()),
            "e": pa.array([None if row["e"] is None else bool(row["e"]) for row in part], pa.bool_()),
        }
        found.append(Block.from_buffer(encode_block(pa.table(arrays), _SCHEMA, force_encoding=encoding).content))
    return found


def made(kernel: KernelColumns, blocks: Sequence[Block], threads: int = 1) -> list[tuple[int | None, ...]]:
    table = kernel_rows(kernel, blocks, threads)
    assert tuple(table.column_names) == kernel.aliases
    return sorted(zip(*(column.to_pylist() for column in table.columns), strict=True), key=repr)


def kernel(
    keys: Sequence[Code] = (), aggregates: Sequence[Code] = (), conditions: Sequence[Code] = (), wide: int = 10**6
) -> KernelColumns:
    groups = tuple(GroupKey(f"k{place}", code, -wide, wide, "BIGINT") for place, code in enumerate(keys))
    totals = tuple((f"t{place}", code) for place, code in enumerate(aggregates))
    return KernelColumns("in0", BLOCKS, tuple(conditions), groups, totals)


A, B, C, D, E = map(column_code, "abcde")
COUNT = Code("count", (constant_code(1),))
_numbers = st.sampled_from([A, B, C, D, constant_code(3), constant_code(-1), NULL_CODE])
_arithmetic = st.builds(
    lambda op, x, y: Code(op, (x, y)), st.sampled_from(["add", "subtract", "multiply"]), _numbers, _numbers
)
_compared = st.builds(
    lambda op, x, y: Code(op, (x, y)),
    st.sampled_from(["equal", "not_equal", "less", "less_equal"]),
    _arithmetic | _numbers,
    _arithmetic | _numbers,
)
_truths = st.recursive(
    _compared | st.just(E) | st.builds(lambda x: Code("is_null", (x,)), _numbers),
    lambda below: (
        st.builds(lambda op, x, y: Code(op, (x, y)), st.sampled_from(["and", "or"]), below, below)
        | st.builds(lambda x: Code("not", (x,)), below)
    ),
    max_leaves=4,
)
_values = _arithmetic | _numbers | st.builds(lambda c, x, y: Code("choose", (c, x, y)), _truths, _arithmetic, _numbers)
_aggregates = st.builds(lambda op, x: Code(op, (x,)), st.sampled_from(["sum", "count", "min", "max"]), _values)


def rows_of(seed: int, count: int, nulls: float = 0.2) -> list[Row]:
    chosen = random.Random(seed)

    def number(low: int, high: int) -> int | None:
        return None if chosen.random() < nulls else chosen.randint(low, high)

    return [
        {"a": number(-5, 5), "b": number(-9999, 9999), "c": number(0, 3), "d": number(100, 120), "e": number(0, 1)}
        for _ in range(count)
    ]


@settings(max_examples=examples(300), deadline=None)
@given(
    st.integers(0, 5),
    st.lists(_values, max_size=2),
    st.lists(_aggregates, min_size=1, max_size=4),
    st.lists(_truths, max_size=3),
    st.sampled_from([0.0, 0.2, 1.0]),
)
def test_any_kernel(seed: int, keys: list[Code], aggregates: list[Code], conditions: list[Code], nulls: float) -> None:
    rows = rows_of(seed, 150, nulls)
    one = kernel(keys, aggregates, conditions, wide=10**8 + 10**5)
    assert made(one, blocks_of(rows, (70, 1, 50))) == expected(one, rows)


@pytest.mark.parametrize("encoding", ["plain", "narrow", "bit_packed", "delta", "dictionary", "run_length", "constant"])
def test_encodings(encoding: str) -> None:
    rows = [{"a": 3, "b": 10 + number // 4, "c": 1, "d": number, "e": number % 2} for number in range(3000)]
    one = kernel(
        [C], [COUNT, Code("sum", (A,)), Code("sum", (B,)), Code("max", (D,))], [Code("less", (D, constant_code(2900)))]
    )
    assert made(one, blocks_of(rows, (2000,), encoding)) == expected(one, rows)


def test_no_rows_and_no_blocks() -> None:
    one, grouped = kernel((), [COUNT, Code("sum", (A,)), Code("min", (B,))]), kernel([A], [COUNT])
    assert made(one, []) == [(0, None, None)]
    assert made(grouped, []) == []
    nothing = [Code("less", (A, constant_code(-100)))]
    assert made(kernel((), [COUNT], nothing), blocks_of(rows_of(1, 50), (50,))) == [(0,)]


@pytest.mark.parametrize("threads", [1, 3])
def test_many_groups_in_several_threads(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_work, "_FEW_ROWS", 100)
    monkeypatch.setattr(machine_work, "_FIRST_KEYS", 1 << 11)
    rows = rows_of(7, 20_000, 0.01)
    aggregates = [COUNT, Code("sum", (A,)), Code("min", (B,)), Code("max", (B,))]
    for keys in ([B], [A], [A, C], []):
        one = kernel(keys, aggregates)
        assert made(one, blocks_of(rows, (3000,)), threads) == expected(one, rows)


@pytest.mark.parametrize(("keys", "wide"), [([C], 5), ([E], 1), ([A, C], 6), ([D], 200)])
def test_groups_that_have_their_places(keys: list[Code], wide: int) -> None:
    rows = rows_of(5, 3000, 0.1)
    aggregates = [COUNT, Code("sum", (B,)), Code("min", (B,)), Code("max", (B,)), Code("count", (A,))]
    one = kernel(keys, aggregates, wide=wide)
    assert machine_program(one, frozenset()).num_groups is not None
    assert made(one, blocks_of(rows, (1500,))) == expected(one, rows)


def test_needed_rows_meet_the_conditions_of_the_scan_and_no_others() -> None:
    rows = rows_of(3, 500, 0.1)
    of_scan, above = Code("less", (A, constant_code(50))), Code("less", (C, constant_code(2)))
    one = kernel([A], [COUNT, Code("sum", (B,))], [of_scan, above])
    one = replace(one, blocks=replace(one.blocks, filter=RowFilter((of_scan,), (), "a < 50")))
    needed = pa.array([place for place, row in enumerate(rows) if value(of_scan, row) == 1], pa.uint32())
    table = kernel_rows(one, blocks_of(rows, (500,)), 1, [needed])
    found = sorted(map(tuple, (row.values() for row in table.to_pylist())), key=repr)
    assert found == sorted(expected(one, rows), key=repr)
    assert len(found) > 1


def test_a_filter_that_leaves_few_rows() -> None:
    rows = rows_of(3, 5000, 0.1)
    few = functools.partial(Code, "equal")
    one = kernel([C], [COUNT, Code("sum", (B,))], [few((A, constant_code(2))), few((E, constant_code(1)))])
    assert made(one, blocks_of(rows, (5000,))) == expected(one, rows)


def test_a_key_outside_its_bounds_is_an_error() -> None:
    with pytest.raises(InternalError, match="outside the bounds"):
        made(kernel([D], [COUNT], wide=50), blocks_of(rows_of(1, 500, 0.0), (500,)))


def test_keys_have_their_types() -> None:
    blocks: Any = blocks_of(rows_of(1, 10), (10,))
    table = kernel_rows(kernel([C]), blocks, 1)
    assert table.schema.field("k0").type == pa.int64()


# Lookups


_FOUND = t.Schema((t.Field("p", t.INT), t.Field("q", t.BIGINT), t.Field("r", t.BOOLEAN)))
_P, _Q, _R = map(column_code, "pqr")
FOUND = BlockColumns("in1", _FOUND.names, _FOUND.names, _FOUND, ("INTEGER", "BIGINT", ""))


def found_blocks(rows: Sequence[Row], size: int) -> list[Block]:
    parts = [rows[start : start + size] for start in range(0, len(rows), size)]
    types = {"p": pa.int32(), "q": pa.int64(), "r": pa.bool_()}
    tables = [
        pa.table({name: pa.array([row[name] for row in part], pa.int64()).cast(dtype) for name, dtype in types.items()})
        for part in parts
    ]
    return [Block.from_buffer(encode_block(table, _FOUND).content) for table in tables]


def found_rows(seed: int, *, wide: bool) -> list[Row]:
    """Rows with distinct keys or NULL."""
    chosen = random.Random(seed)
    keys = [*chosen.sample(range(-9, 12), chosen.randint(0, 15)), None, None]
    far = 2**62 if wide else 2**31
    return [{"p": key, "q": chosen.choice([None, 7, -far, far - 1]), "r": chosen.choice([None, 0, 1])} for key in keys]


def joined(rows: Sequence[Row], found: Sequence[Row], lookup: Lookup) -> list[Row]:
    by_key = {row["p"]: row for row in found if all(value(one, row) == 1 for one in lookup.conditions)}
    by_key.pop(None, None)
    missing: Row = dict.fromkeys("pqr")
    pairs = [(row, by_key.get(value(lookup.key, row))) for row in rows]
    return [row | (match or missing) for row, match in pairs if match is not None or lookup.keeps_all]


@settings(max_examples=examples(200), deadline=None)
@given(
    st.integers(0, 9),
    st.sampled_from([A, C, Code("add", (A, C)), Code("multiply", (A, constant_code(2))), NULL_CODE]),
    st.lists(st.sampled_from([C, _R, _P, E]), max_size=2),
    st.lists(
        _truths | st.sampled_from([Code("less", (_P, C)), Code("not", (_R,)), Code("is_null", (_Q,))]), max_size=2
    ),
    st.booleans(),
    st.sampled_from([(), (Code("less", (constant_code(-3), _P)),), (_R,)]),
)
def test_any_lookup(
    seed: int, key: Code, keys: list[Code], conditions: list[Code], keeps_all: bool, of_found: tuple[Code, ...]
) -> None:
    rows, found = rows_of(seed, 150), found_rows(seed, wide=seed % 2 == 0)
    lookup = Lookup(key, FOUND, "p", of_found, keeps_all)
    aggregates = [COUNT, *(Code(op, (arg,)) for op in ("count", "min", "max") for arg in (_Q, B)), Code("sum", (B,))]
    one = replace(kernel(keys, aggregates, conditions, wide=100), lookups=(lookup,))
    blocks = found_blocks(found, 6)
    table = lookup_table(lookup, blocks, None, one.columns, 1)
    assert table is not None
    result = kernel_rows(one, blocks_of(rows, (70, 1, 50)), 1, tables=[table])
    made_rows = sorted(zip(*(column.to_pylist() for column in result.columns), strict=True), key=repr)
    assert made_rows == expected(replace(one, lookups=()), joined(rows, found, lookup))


def test_a_lookup_by_a_column_of_another_one() -> None:
    rows, found = rows_of(4, 200), [{"p": number, "q": 9 - number, "r": 1} for number in range(3)]
    others = BlockColumns("in2", FOUND.names, ("p2", "q2", "r2"), _FOUND, FOUND.forms)
    lookups = Lookup(C, FOUND, "p", (), keeps_all=True), Lookup(_Q, others, "p2")
    last = [{"p": number, "q": number * 10, "r": 0} for number in range(5, 9)]
    one = replace(kernel([C], [COUNT, Code("max", (column_code("q2"),))], wide=9), lookups=lookups)
    parts = zip(lookups, (found, last), strict=True)
    tables = [lookup_table(lookup, found_blocks(of, 4), None, one.columns, 1) for lookup, of in parts]
    made_tables = [table for table in tables if table is not None]
    result = kernel_rows(one, blocks_of(rows, (60,)), 1, tables=made_tables)
    counts = {number: sum(row["c"] == number for row in rows) for number in (1, 2)}
    found_groups = sorted(zip(*(column.to_pylist() for column in result.columns), strict=True))
    assert found_groups == [(1, counts[1], 80), (2, counts[2], 70)]


def test_a_kernel_without_its_tables_is_an_error() -> None:
    with pytest.raises(InternalError, match="has no table"):
        kernel_rows(replace(kernel([], [COUNT]), lookups=(Lookup(A, FOUND, "p"),)), [], 1)


def test_keys_that_repeat_have_no_table() -> None:
    lookup, twice = Lookup(A, FOUND, "p"), [{"p": 3, "q": number, "r": number % 2} for number in range(2)]
    assert lookup_table(lookup, found_blocks(twice, 1), None, {"q"}, 1) is None
    assert lookup_table(replace(lookup, conditions=(_R,)), found_blocks(twice, 1), None, {"q"}, 1) is not None
    far = [{"p": number, "q": 0, "r": 0} for number in (-(2**31), 2**31 - 1)]
    assert lookup_table(lookup, found_blocks(far, 1), None, {"q"}, 1) is None


def test_needed_rows_of_a_lookup() -> None:
    known, above = Code("less", (constant_code(0), _P)), _R
    found = [{"p": number, "q": number, "r": number % 2} for number in range(-2, 4)]
    blocks = found_blocks(found, 3)
    lookup = Lookup(A, replace(FOUND, filter=RowFilter((known,), (), "p > 0")), "p", (known, above))
    for needed in (
        None,
        [pa.array([], pa.uint32()), pa.array([0, 1, 2], pa.uint32())],
        [None, pa.array([0, 2], pa.uint32())],
    ):
        table = lookup_table(lookup, blocks, needed, {"q"}, 1)
        assert table is not None
        assert table.columns["q"][1 - table.keys.low] == 1
        assert [table.keys.low, table.keys.high] == [1, 3]
