"""Rows of literals made without a query: for every type they equal the rows from the query of the same plan."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sharkpy.execution.tasks.inputs import TaskData, TaskMetrics
from sharkpy.execution.tasks.task import task_batches
from sharkpy.optimizer.decisions import Place, Placement
from sharkpy.physical.lowering.lower_stage import MOST_BYTES, MOST_VALUES, constant_rows, lower_stage, result_stage
from sharkpy.physical.operators import (
    Filter,
    LimitOperator,
    Project,
    SortOperator,
    TopN,
    UnionAll,
    ValuesScan,
)
from sharkpy.physical.plan import PhysicalPlan
from sharkpy.physical.stage import AS_TASKS
from sharkpy.physical.stage_program import ResultSink
from sharkpy.plan.expr import Alias, Call, Cast, ColumnRef, Expr, Literal, SortKey
from sharkpy.values.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    INTERVAL_DAY_TIME,
    INTERVAL_YEAR_MONTH,
    NULL,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TINYINT,
    ArrayType,
    CharType,
    DataType,
    DecimalType,
    MapType,
    StructType,
    VarcharType,
    arrow_schema,
)
from tests.examples import examples
from tests.physical.simulate import connect, ids

VALUES: dict[DataType, list[object]] = {
    NULL: [],
    BOOLEAN: [True, False],
    TINYINT: [-128, 0, 127],
    SMALLINT: [-32_768, 32_767],
    INT: [0, 2**31 - 1, -(2**31)],
    BIGINT: [2**63 - 1, -(2**63)],
    FLOAT: [0.0, -0.0, 0.1, 1 / 3, 3.4028234663852886e38, math.inf, -math.inf, math.nan],
    DOUBLE: [0.0, -0.0, 0.1, 5e-324, 1.7976931348623157e308, math.inf, -math.inf, math.nan],
    DecimalType(10, 2): [Decimal("1.5"), Decimal("-0.01"), Decimal(0), 5, Decimal("1E+3"), Decimal("99999999.99")],
    DecimalType(38, 0): [Decimal("9" * 38), Decimal("-" + "9" * 38)],
    DecimalType(38, 38): [Decimal("-0." + "9" * 38), Decimal("1E-38")],
    STRING: ["", "a'b", "ä€😀", "a\0b", "\n\\\r", " "],
    VarcharType(3): ["abc", ""],
    CharType(4): ["a   "],
    BINARY: [b"", b"\0\xff", bytearray(b"x")],
    DATE: [datetime.date(1, 1, 1), datetime.date(1969, 12, 31), datetime.date(9999, 12, 31)],
    TIMESTAMP: [
        datetime.datetime(1, 1, 1),
        datetime.datetime(1969, 12, 31, 23, 59, 59, 999_999),
        datetime.datetime(9999, 12, 31, 23, 59, 59, 999_999),
    ],
    INTERVAL_YEAR_MONTH: [14, -1],
    INTERVAL_DAY_TIME: [1, -86_400_000_000],
    ArrayType(INT): [],
    ArrayType(NULL): [],
    MapType(STRING, DecimalType(10, 2)): [],
    StructType(("a", "b"), (INT, ArrayType(STRING))): [],
}


def column(dtype: DataType) -> ColumnRef:
    return ColumnRef(next(ids), "x", dtype)


def values(*rows: tuple[Literal, ...]) -> ValuesScan:
    return ValuesScan(tuple(column(one.dtype) for one in rows[0]), rows)


def integers(*numbers: int) -> ValuesScan:
    return values(*((Literal(number, INT),) for number in numbers))


def by_query(plan: PhysicalPlan) -> pa.Table:
    """The rows by the query that ran before there was another way."""
    program = lower_stage(plan, ResultSink()).program
    with task_batches(program, TaskData(), connect(), TaskMetrics()) as batches:
        return pa.Table.from_batches(list(batches), arrow_schema(program.output))


def check(plan: PhysicalPlan) -> None:
    rows, wanted = constant_rows(plan), by_query(plan)
    assert rows is not None
    assert rows.schema.equals(wanted.schema)
    # As text: NaN is itself there, and -0.0 is not 0.0.
    assert repr(rows.to_pylist()) == repr(wanted.to_pylist())
    rows.validate(full=True)


@pytest.mark.parametrize("dtype", VALUES, ids=str)
def test_each_type(dtype: DataType) -> None:
    literals = [Literal(value, dtype) for value in (*VALUES[dtype], None)]  # type: ignore[arg-type]
    check(values(*((one,) for one in literals)))
    check(ValuesScan((column(dtype),), ()))
    items = tuple(Alias(one, next(ids), "x") for one in literals)
    check(Project(ValuesScan((), ((),)), items))
    check(Project(ValuesScan((), ((), ())), items))


PLAIN = {
    BOOLEAN: st.booleans(),
    INT: st.integers(-(2**31), 2**31 - 1),
    BIGINT: st.integers(-(2**63), 2**63 - 1),
    FLOAT: st.floats(width=32),
    DOUBLE: st.floats(),
    DecimalType(20, 4): st.decimals(-(10**15), 10**15, places=4),
    STRING: st.text(st.characters(exclude_categories=("Cs",))),
    BINARY: st.binary(),
    DATE: st.dates(),
    TIMESTAMP: st.datetimes(),
}


@given(st.data())
@settings(max_examples=examples(150), deadline=None)
def test_any_literals(data: st.DataObject) -> None:
    types = data.draw(st.lists(st.sampled_from(list(PLAIN)), min_size=1, max_size=5))
    row = st.tuples(*(st.one_of(st.none(), PLAIN[one]) for one in types))
    rows = data.draw(st.lists(row, min_size=1, max_size=4))
    check(values(*(tuple(map(Literal, one, types)) for one in rows)))


def test_operators_that_only_choose() -> None:
    scan = integers(1, 2, 3, 4)
    (number,) = scan.output
    constant = Alias(Literal("a", STRING), next(ids), "a")
    wider = Alias(Cast(number, BIGINT), next(ids), "b")
    projected = Project(scan, (number, constant, Alias(number, next(ids), "c"), wider))
    check(projected)
    for count, offset in ((2, 0), (2, 1), (None, 3), (9, 9), (0, 0)):
        check(LimitOperator(projected, count, offset))
    check(UnionAll((scan, ValuesScan((column(INT),), ()), integers(7)), (column(INT),)))
    check(Project(LimitOperator(scan, 1), (Alias(number, next(ids), "d"),)))


def test_nothing_is_computed_of_no_rows() -> None:
    scan = ValuesScan((column(INT),), ())
    (number,) = scan.output
    sum_of = Call("add", (number, Literal(1, INT)), INT)
    is_one = Call("eq", (number, Literal(1, INT)), BOOLEAN)
    for plan in (
        Project(scan, (Alias(sum_of, next(ids), "x"),)),
        Filter(scan, is_one),
        SortOperator(Filter(scan, is_one), (SortKey(sum_of),)),
        TopN(scan, (SortKey(number),), 3),
    ):
        check(plan)


def computed() -> list[PhysicalPlan]:
    scan = integers(1, 2)
    (number,) = scan.output
    is_one = Call("eq", (number, Literal(1, INT)), BOOLEAN)
    call: Expr = Call("abs", (Literal(1, INT),), INT)
    return [
        Project(scan, (Alias(call, next(ids), "x"),)),
        Project(scan, (Alias(Cast(number, STRING), next(ids), "x"),)),
        ValuesScan((column(INT),), ((Literal(1, INT),), (call,))),
        Filter(scan, is_one),
        SortOperator(scan, (SortKey(number),)),
        TopN(scan, (SortKey(number),), 1),
        UnionAll((scan, Filter(scan, is_one)), (column(INT),)),
        UnionAll((scan, integers(1)), (column(BIGINT),)),
    ]


@pytest.mark.parametrize("plan", computed(), ids=lambda plan: plan.label)
def test_what_is_computed_is_left_to_a_query(plan: PhysicalPlan) -> None:
    assert constant_rows(plan) is None


@pytest.mark.parametrize(
    "literal",
    [
        Literal(Decimal("1.005"), DecimalType(10, 2)),
        Literal(Decimal(1000), DecimalType(3, 0)),
        Literal(1e39, FLOAT),
        Literal("\ud800", STRING),
        Literal([1], ArrayType(INT)),
        Literal({"a": 1}, MapType(STRING, INT)),
        Literal(2**31, INT),
        Literal(datetime.datetime(2024, 1, 1), DATE),
        Literal(datetime.date(2024, 1, 1), TIMESTAMP),
        Literal("x", BINARY),
        Literal(1, NULL),
    ],
    ids=str,
)
def test_values_that_are_not_plainly_of_their_type_are_left_to_a_query(literal: Literal) -> None:
    assert constant_rows(values((literal,))) is None
    assert constant_rows(values((Literal(None, literal.dtype),))) is not None


def test_many_rows_are_left_to_a_query() -> None:
    check(integers(*range(MOST_VALUES)))
    assert constant_rows(integers(*range(MOST_VALUES + 1))) is None
    (number,) = (scan := integers(*range(MOST_VALUES // 2 + 1))).output
    assert constant_rows(Project(scan, (number, Alias(number, next(ids), "x")))) is None
    assert constant_rows(UnionAll((scan, scan), (column(INT),))) is None
    assert constant_rows(ValuesScan((), ((),) * (MOST_VALUES + 1))) is None
    check(values((Literal("x" * (MOST_BYTES // 2), STRING),)))
    assert constant_rows(values((Literal("x" * (MOST_BYTES + 1), STRING),))) is None


def test_rows_without_columns_are_left_to_a_query() -> None:
    assert constant_rows(ValuesScan((), ((),))) is None


def test_a_stage_has_its_rows_in_the_driver_alone() -> None:
    plan = integers(1, 2)
    here = result_stage(plan, 2, Placement(Place.DRIVER, "the test asks for it"))
    assert here.rows is not None
    assert here.rows.to_pylist() == by_query(plan).to_pylist()
    assert (here.program.sql, here.program.inputs, len(here.tasks)) == ("", (), 1)
    there = result_stage(plan, 2, AS_TASKS)
    assert there.rows is None
    assert there == lower_stage(plan, ResultSink(), 2)
