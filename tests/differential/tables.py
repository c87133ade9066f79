"""Small tables that random queries read: NULL, NaN, -0.0, extremes, empty and Unicode strings, leap days."""

from __future__ import annotations

import datetime
import random
from dataclasses import dataclass
from decimal import Decimal

import pyarrow as pa

from tests.differential.expressions import Kind

date = datetime.date
timestamp = datetime.datetime

POOLS: dict[Kind, tuple[object, ...]] = {
    "int": (None, 0, 1, -1, 2, 3, 7, 42, 1000, 2147483647, -2147483648),
    "bigint": (None, 0, 1, -5, 3_000_000_000, 2**63 - 1, -(2**63), 10**15),
    "double": (None, 0.0, -0.0, 0.25, -2.25, 1.5, 1e10, float("nan"), 7.0),
    "decimal": (None, *map(Decimal, ("0.00", "0.01", "-0.05", "1.10", "2.50", "99999999.99", "-99999999.99"))),
    "wide": (
        None,
        *map(Decimal, ("0.00", "0.01", "-0.01", "1.10", "1e30", "-1e30", "123456789012345678901234567890.12")),
    ),
    "string": (None, "", "a", "b", "B", "10", " 7 ", "é", "日本", "x%y", "a_b", "naïve Ωmega", "🙂", "1e2"),
    "date": (None, date(4, 2, 29), date(1969, 12, 31), date(1970, 1, 1), date(2024, 2, 29), date(9998, 12, 31)),
    "timestamp": (
        None,
        timestamp(1969, 12, 31, 23, 59, 59, 999999),
        timestamp(1970, 1, 1),
        timestamp(2024, 2, 29, 12, 30, 15),
        timestamp(2024, 2, 29, 12, 30, 15, 123456),
    ),
    "boolean": (None, True, False),
}
ARROW: dict[Kind, pa.DataType] = {
    "int": pa.int32(),
    "bigint": pa.int64(),
    "double": pa.float64(),
    "decimal": pa.decimal128(10, 2),
    "wide": pa.decimal128(38, 2),
    "string": pa.string(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
    "boolean": pa.bool_(),
}
HIVE_TYPES = {"decimal": "decimal(10,2)", "wide": "decimal(38,2)"}


@dataclass(frozen=True)
class Table:
    name: str
    columns: tuple[tuple[str, Kind], ...]
    num_rows: int

    def arrow(self) -> pa.Table:
        """Rows of the table, the same at every call."""
        chance = random.Random(self.name)
        arrays = [
            pa.array([chance.choice(POOLS[kind]) for _ in range(self.num_rows)], ARROW[kind])
            for _, kind in self.columns
        ]
        return pa.table(dict(zip((name for name, _ in self.columns), arrays, strict=True)))

    @property
    def ddl(self) -> str:
        columns = ", ".join(f"{name} {HIVE_TYPES.get(kind, kind)}" for name, kind in self.columns)
        return f"CREATE TABLE {self.name} ({columns}) STORED AS PARQUET"


TABLES = (
    Table("t1", (("i", "int"), ("b", "bigint"), ("s", "string"), ("x", "double"), ("d", "decimal")), 23),
    Table("t2", (("i", "int"), ("s", "string"), ("dt", "date"), ("ts", "timestamp"), ("p", "boolean")), 17),
    Table("t3", (("i", "int"), ("j", "int"), ("x", "double"), ("d", "decimal"), ("dt", "date"), ("w", "wide")), 9),
    Table("t0", (("i", "int"), ("s", "string"), ("x", "double"), ("w", "wide")), 0),
)
