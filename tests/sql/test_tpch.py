"""The 22 queries of TPC-H bind, to the columns that the specification names."""

from __future__ import annotations

from pathlib import Path

import pytest

from sharkpy.plan.expr import ColumnRef, Literal
from sharkpy.plan.logical import Filter, LogicalPlan, Scan
from sharkpy.plan.references import free_column_ids
from sharkpy.values.types import DATE
from tests.sql.memory_catalog import make_catalog, plan_of

_FOLDER = Path(__file__).parents[2] / "bench" / "queries" / "tpch"
_CATALOG = make_catalog()
_OUTPUT = {
    1: "l_returnflag l_linestatus sum_qty sum_base_price sum_disc_price sum_charge avg_qty avg_price avg_disc "
    "count_order",
    2: "s_acctbal s_name n_name p_partkey p_mfgr s_address s_phone s_comment",
    3: "l_orderkey revenue o_orderdate o_shippriority",
    4: "o_orderpriority order_count",
    5: "n_name revenue",
    6: "revenue",
    7: "supp_nation cust_nation l_year revenue",
    8: "o_year mkt_share",
    9: "nation o_year sum_profit",
    10: "c_custkey c_name revenue c_acctbal n_name c_address c_phone c_comment",
    11: "ps_partkey value",
    12: "l_shipmode high_line_count low_line_count",
    13: "c_count custdist",
    14: "promo_revenue",
    15: "s_suppkey s_name s_address s_phone total_revenue",
    16: "p_brand p_type p_size supplier_cnt",
    17: "avg_yearly",
    18: "c_name c_custkey o_orderkey o_orderdate o_totalprice sum_quantity",
    19: "revenue",
    20: "s_name s_address",
    21: "s_name numwait",
    22: "cntrycode numcust totacctbal",
}


def _plan(number: int) -> LogicalPlan:
    return plan_of((_FOLDER / f"q{number:02d}.sql").read_text(), _CATALOG, "tpch")


@pytest.mark.parametrize("number", _OUTPUT)
def test_binds_with_the_columns_of_the_specification(number: int) -> None:
    plan = _plan(number)
    assert [column.name for column in plan.output] == _OUTPUT[number].split()
    assert free_column_ids(plan) == frozenset()


@pytest.mark.parametrize("number", _OUTPUT)
def test_column_ids_are_unique_among_scans(number: int) -> None:
    ids = [column.column_id for node in _plan(number).walk() if isinstance(node, Scan) for column in node.columns]
    assert len(ids) == len(set(ids))


def test_dates_plus_intervals_are_folded_to_dates() -> None:
    filters = [node for node in _plan(1).walk() if isinstance(node, Filter)]
    column, bound = filters[0].predicate.children
    assert isinstance(column, ColumnRef)
    assert isinstance(bound, Literal)
    assert (column.dtype, bound.dtype, str(bound.value)) == (DATE, DATE, "1998-09-02")


def test_types_follow_hives_decimal_rules() -> None:
    types = {column.name: str(column.dtype) for column in _plan(1).output}
    assert types["sum_qty"] == "decimal(25,2)"
    assert types["sum_disc_price"] == "decimal(38,4)"
    assert types["avg_qty"] == "decimal(19,6)"
    assert types["count_order"] == "bigint"
