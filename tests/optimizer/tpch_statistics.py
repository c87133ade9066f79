"""Figures of the TPC-H tables at scale 1, as a provider of statistics."""

from __future__ import annotations

import datetime
from decimal import Decimal

from sharkpy.catalog.model import Table
from sharkpy.optimizer.context import ColumnEstimate

ROWS = {
    "region": 5,
    "nation": 25,
    "supplier": 10_000,
    "customer": 150_000,
    "part": 200_000,
    "partsupp": 800_000,
    "orders": 1_500_000,
    "lineitem": 6_001_215,
}
_FIRST, _LAST = datetime.date(1992, 1, 1), datetime.date(1998, 8, 2)
_COLUMNS = {
    "r_regionkey": ColumnEstimate(5, 0, 4),
    "r_name": ColumnEstimate(5),
    "n_nationkey": ColumnEstimate(25, 0, 24),
    "n_name": ColumnEstimate(25),
    "n_regionkey": ColumnEstimate(5, 0, 4),
    "s_suppkey": ColumnEstimate(10_000, 1, 10_000),
    "s_nationkey": ColumnEstimate(25, 0, 24),
    "c_custkey": ColumnEstimate(150_000, 1, 150_000),
    "c_nationkey": ColumnEstimate(25, 0, 24),
    "c_mktsegment": ColumnEstimate(5),
    "c_acctbal": ColumnEstimate(140_000, Decimal("-999.99"), Decimal("9999.99")),
    "p_partkey": ColumnEstimate(200_000, 1, 200_000),
    "p_brand": ColumnEstimate(25),
    "p_type": ColumnEstimate(150),
    "p_size": ColumnEstimate(50, 1, 50),
    "p_container": ColumnEstimate(40),
    "ps_partkey": ColumnEstimate(200_000, 1, 200_000),
    "ps_suppkey": ColumnEstimate(10_000, 1, 10_000),
    "o_orderkey": ColumnEstimate(1_500_000, 1, 6_000_000),
    "o_custkey": ColumnEstimate(100_000, 1, 150_000),
    "o_orderdate": ColumnEstimate(2406, _FIRST, _LAST),
    "o_orderstatus": ColumnEstimate(3),
    "l_orderkey": ColumnEstimate(1_500_000, 1, 6_000_000),
    "l_partkey": ColumnEstimate(200_000, 1, 200_000),
    "l_suppkey": ColumnEstimate(10_000, 1, 10_000),
    "l_quantity": ColumnEstimate(50, Decimal(1), Decimal(50)),
    "l_discount": ColumnEstimate(11, Decimal(0), Decimal("0.1")),
    "l_shipdate": ColumnEstimate(2526, _FIRST, datetime.date(1998, 12, 1)),
    "l_receiptdate": ColumnEstimate(2554, _FIRST, datetime.date(1998, 12, 31)),
    "l_shipmode": ColumnEstimate(7),
    "l_shipinstruct": ColumnEstimate(4),
    "l_returnflag": ColumnEstimate(3),
}


class TpchStatistics:
    def num_rows(self, table: Table) -> int | None:
        return ROWS.get(table.name)

    def column(self, table: Table, name: str) -> ColumnEstimate | None:
        return _COLUMNS.get(name)
