"""Scans of cached tables: pruning, answers from statistics, and arithmetic on stored integers."""

from __future__ import annotations

import datetime
from decimal import Decimal

import duckdb
import pyarrow as pa
import pytest

from sharkpy.base.settings import Conf
from sharkpy.columnar.store import BlockStore
from sharkpy.physical.lowering.lower_fragment import lower_fragment
from sharkpy.physical.operators import BlockScan, ValuesScan
from sharkpy.physical.planner import plan_physical
from sharkpy.plan.expr import AggregateCall, Alias, Call, Cast, Literal, SortKey
from sharkpy.plan.logical import Aggregate, Project, Sort
from sharkpy.values.types import BIGINT, BOOLEAN, DATE, INT, STRING, DecimalType
from tests.physical.simulate import World, cached, ids, rows, unordered

PRICE = DecimalType(15, 2)
N = 4_000


def data() -> pa.Table:
    return pa.table(
        {
            "i": pa.array([None if i % 97 == 0 else i for i in range(N)], pa.int32()),
            "big": pa.array([i * 10**12 for i in range(N)], pa.int64()),
            "price": pa.array(
                [None if i % 31 == 0 else Decimal(i * 7 + 1) / 100 for i in range(N)], pa.decimal128(15, 2)
            ),
            "discount": pa.array([Decimal(i % 11) / 100 for i in range(N)], pa.decimal128(15, 2)),
            "day": pa.array([datetime.date(1992, 1, 1) + datetime.timedelta(days=i // 4) for i in range(N)]),
            "flag": pa.array([None if i % 50 == 0 else "ANR"[i % 3] for i in range(N)]),
            "x": pa.array([i / 8 for i in range(N)], pa.float64()),
        }
    )


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    made = BlockStore(1 << 30, str(tmp_path_factory.mktemp("shm")), str(tmp_path_factory.mktemp("local")))
    yield made
    made.close()


def world(store: BlockStore, num_blocks: int = 4, encoding: str = "", **conf: str) -> World:
    table = data()
    values = {key.replace("_", "."): value for key, value in conf.items()}
    return World({"t": table}, conf=Conf(values), versions={"t": cached(store, table, num_blocks, encoding)})


def call(function, *args, dtype=BOOLEAN):
    return Call(function, args, dtype)


def agg(function, *args, dtype):
    return Alias(AggregateCall(function, args, dtype), next(ids), function)


def pruned(w: World, scan) -> int:
    plan = plan_physical(scan, w.context("driver")).root
    return plan.blocks.num_kept if isinstance(plan, BlockScan) else 0


PREDICATES = {
    "i < 900": (lambda c: call("lt", c["i"], Literal(900, INT)), 1),
    "i = 5000": (lambda c: call("eq", c["i"], Literal(5000, INT)), 0),
    "5 > i": (lambda c: call("gt", Literal(5, INT), c["i"]), 1),
    "i IN (1, 3999)": (lambda c: call("in", c["i"], Literal(1, INT), Literal(3999, INT)), 2),
    "day BETWEEN DATE '1992-01-03' AND DATE '1992-01-04'": (
        lambda c: call(
            "between", c["day"], Literal(datetime.date(1992, 1, 3), DATE), Literal(datetime.date(1992, 1, 4), DATE)
        ),
        1,
    ),
    "year(day) = 1994": (lambda c: call("eq", call("year", c["day"], dtype=INT), Literal(1994, INT)), 2),
    "CAST(i AS BIGINT) >= 3500": (lambda c: call("ge", Cast(c["i"], BIGINT), Literal(3500, BIGINT)), 1),
    "price <= 1.50": (lambda c: call("le", c["price"], Literal(Decimal("1.50"), PRICE)), 1),
    "NOT (price > 1.50)": (lambda c: call("not", call("gt", c["price"], Literal(Decimal("1.50"), PRICE))), 1),
    "flag LIKE 'A%'": (lambda c: call("like", c["flag"], Literal("A%", STRING)), 4),
    "flag LIKE 'Z_%'": (lambda c: call("like", c["flag"], Literal("Z_%", STRING)), 0),
    "i IS NULL": (lambda c: call("is_null", c["i"]), 4),
    "x < 1 OR i = 1": (
        lambda c: call("or", call("lt", c["x"], Literal(1.0, c["x"].dtype)), call("eq", c["i"], Literal(1, INT))),
        1,
    ),
    "length(flag) = 1": (lambda c: call("eq", call("length", c["flag"], dtype=INT), Literal(1, INT)), 4),
}


@pytest.mark.variants(3)
@pytest.mark.parametrize("text", PREDICATES)
def test_pruning_and_rows(store, text):
    make, kept = PREDICATES[text]
    w = world(store)
    bare, c = w.scan("t")
    scan = type(bare)(bare.table, bare.columns, bare.names, make(c))
    assert pruned(w, scan) == kept
    t = w.tables["t"]  # noqa: F841 - read by DuckDB
    expected = unordered(duckdb.sql(f"SELECT * FROM t WHERE {text}").to_arrow_table())
    for placement in ("driver", "rdd"):
        assert unordered(w.run(scan, placement)) == expected
    assert pruned(world(store, shark_pruning="false"), scan) == 4


def test_driver_placement_by_bytes(store):
    w = world(store)
    scan, _ = w.scan("t")
    small = plan_physical(scan, w.context(None)).root
    assert str(small.distribution) == "single"
    w.conf.set("shark.placement.driver.max.bytes", "10")
    w.conf.set("shark.task.single.max.rows", "0")
    assert str(plan_physical(scan, w.context(None)).root.distribution) == "any"


def test_answers_from_statistics(store):
    w = world(store)
    scan, c = w.scan("t")
    plan = Aggregate(
        scan,
        (),
        (
            agg("count", dtype=BIGINT),
            agg("count", c["i"], dtype=BIGINT),
            agg("min", c["price"], dtype=PRICE),
            agg("max", c["day"], dtype=DATE),
            agg("max", c["flag"], dtype=STRING),
        ),
    )
    assert isinstance(plan_physical(plan, w.context("driver")).root, ValuesScan)
    got = rows(w.run(plan, "driver"))
    t = w.tables["t"]  # noqa: F841 - read by DuckDB
    query = "SELECT count(*), count(i), min(price), max(day), max(flag) FROM t"
    assert got == rows(duckdb.sql(query).to_arrow_table().rename_columns(list("abcde")))
    w.conf.set("shark.statistics.answers", "false")
    assert not isinstance(plan_physical(plan, w.context("driver")).root, ValuesScan)
    assert rows(w.run(plan, "driver")) == got


def test_answers_under_a_predicate_on_whole_blocks(store):
    w = world(store)
    bare, c = w.scan("t")

    def counted(limit: int) -> bool:
        predicate = call("lt", c["big"], Literal(limit * 10**12, BIGINT))
        scan = type(bare)(bare.table, bare.columns, bare.names, predicate)
        plan = Aggregate(scan, (), (agg("count", dtype=BIGINT), agg("max", c["big"], dtype=BIGINT)))
        assert rows(w.run(plan, "driver")) == [(limit, (limit - 1) * 10**12)]
        return isinstance(plan_physical(plan, w.context("driver")).root, ValuesScan)

    assert counted(2_000)
    assert not counted(2_001)


def test_no_answer_where_nulls_matter(store):
    w = world(store)
    bare, c = w.scan("t")
    scan = type(bare)(bare.table, bare.columns, bare.names, call("ge", c["i"], Literal(0, INT)))
    plan = Aggregate(scan, (), (agg("count", dtype=BIGINT),))
    assert not isinstance(plan_physical(plan, w.context("driver")).root, ValuesScan)
    assert rows(w.run(plan, "driver")) == [(N - len(range(0, N, 97)),)]


def q1(scan, c):
    one = Literal(Decimal(1), DecimalType(1, 0))
    net = Call("multiply", (c["price"], Call("subtract", (one, c["discount"]), DecimalType(16, 2))), DecimalType(32, 4))
    items = (
        agg("sum", c["price"], dtype=DecimalType(25, 2)),
        agg("sum", net, dtype=DecimalType(38, 4)),
        agg("avg", c["discount"], dtype=DecimalType(19, 6)),
        agg("min", c["price"], dtype=PRICE),
        agg("max", c["day"], dtype=DATE),
        agg("sum", c["i"], dtype=BIGINT),
        agg("count", c["price"], dtype=BIGINT),
    )
    predicate = call("le", c["day"], Literal(datetime.date(1994, 3, 1), DATE))
    filtered = type(scan)(scan.table, scan.columns, scan.names, predicate)
    return Aggregate(filtered, (c["flag"],), items)


@pytest.mark.parametrize("encoding", ["", "plain", "narrow", "dictionary", "delta", "bit_packed", "run_length"])
@pytest.mark.parametrize("num_blocks", [1, 3])
def test_sums_of_stored_integers(store, encoding, num_blocks):
    w = world(store, num_blocks, encoding)
    scan, c = w.scan("t")
    plan = q1(scan, c)
    t = w.tables["t"]  # noqa: F841 - read by DuckDB
    expected = duckdb.sql(
        "SELECT flag, sum(price)::DECIMAL(25,2), sum(price * (1 - discount))::DECIMAL(38,4), "
        "round(avg(discount::DOUBLE), 6)::DECIMAL(19,6), min(price), max(day), sum(i)::BIGINT, count(price) "
        "FROM t WHERE day <= DATE '1994-03-01' GROUP BY flag"
    ).to_arrow_table()
    for placement in ("driver", "rdd"):
        assert unordered(w.run(plan, placement)) == unordered(expected)


def test_arithmetic_stays_in_integers(store):
    w = world(store)
    scan, c = w.scan("t")
    sql = lower_fragment(plan_physical(q1(scan, c), w.context("driver")).root).sql
    assert "sum_no_overflow" in sql
    assert "(100 - " in sql


def test_values_out_of_the_scan_have_their_types(store):
    w = world(store)
    scan, c = w.scan("t", "i", "price", "day", "big")
    double = Alias(Call("add", (c["price"], c["price"]), DecimalType(16, 2)), next(ids), "d")
    got = w.run(Project(scan, (c["big"], c["i"], c["price"], c["day"], double)), "driver")
    t = w.tables["t"]  # noqa: F841 - read by DuckDB
    expected = duckdb.sql("SELECT big, i, price, day, (price + price)::DECIMAL(16,2) FROM t").to_arrow_table()
    assert rows(got) == [tuple(row.values()) for row in expected.rename_columns(list("abcde")).to_pylist()]


def test_decimal_literals_between_units(store):
    """A comparison with a literal that the column's unit does not hold is exact."""
    w = world(store)
    bare, c = w.scan("t", "price")
    wide = DecimalType(18, 3)
    predicate = call("lt", Cast(c["price"], wide), Literal(Decimal("1.505"), wide))
    scan = type(bare)(bare.table, bare.columns, bare.names, predicate)
    expected = [v for v in w.tables["t"].column("price").to_pylist() if v is not None and v < Decimal("1.505")]
    assert [row[0] for row in rows(w.run(scan, "driver"))] == expected


@pytest.mark.parametrize("encoding", ["", "plain", "dictionary"])
def test_groups_of_few_strings_are_packed(store, encoding):
    table = data().append_column("mode", pa.array([None if i % 7 == 0 else "xyzw"[i % 4] for i in range(N)]))
    w = World({"t": table}, versions={"t": cached(store, table, 3, encoding)})
    scan, c = w.scan("t")
    plan = Aggregate(scan, (c["flag"], c["mode"]), (agg("count", dtype=BIGINT), agg("sum", c["i"], dtype=BIGINT)))
    sql = lower_fragment(plan_physical(plan, w.context("driver")).root).sql
    assert "AS SMALLINT) * CAST(" in sql
    connection = duckdb.connect()
    connection.register("t", table)
    query = "SELECT flag, mode, count(*), sum(i)::BIGINT FROM t GROUP BY ALL"
    expected = unordered(connection.sql(query).to_arrow_table().rename_columns(list("abcd")))
    for placement in ("driver", "rdd"):
        assert unordered(w.run(plan, placement)) == expected
        ordered = rows(w.run(Sort(plan, (SortKey(c["flag"]), SortKey(c["mode"]))), placement))
        assert ordered == sorted(expected, key=lambda row: [(v is not None, v or "") for v in row[:2]])


def test_strings_used_otherwise_are_read_as_they_are(store):
    w = world(store)
    scan, c = w.scan("t")
    plan = Aggregate(scan, (c["flag"],), (agg("max", c["flag"], dtype=STRING),))
    assert sorted(map(str, rows(w.run(plan, "driver")))) == ["('A', 'A')", "('N', 'N')", "('R', 'R')", "(None, None)"]
