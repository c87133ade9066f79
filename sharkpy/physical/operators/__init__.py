"""Physical operators: scans, exchanges, joins, and operators over rows and groups."""

from sharkpy.physical.operators.exchange import Exchange, ExchangeRead
from sharkpy.physical.operators.group_operators import AggregateMode, GroupingSets, HashAggregate, WindowOperator
from sharkpy.physical.operators.join import LEFT_PRESERVED, RIGHT_PRESERVED, HashJoin, NestedLoopJoin
from sharkpy.physical.operators.row_operators import (
    Expand,
    Filter,
    Generate,
    LimitOperator,
    Project,
    SortOperator,
    StepOperator,
    TopN,
    UnionAll,
)
from sharkpy.physical.operators.scans import BlockScan, BlockSet, FileScan, GivenScan, SplitSet, ValuesScan

__all__ = [
    "LEFT_PRESERVED",
    "RIGHT_PRESERVED",
    "AggregateMode",
    "BlockScan",
    "BlockSet",
    "Exchange",
    "ExchangeRead",
    "Expand",
    "FileScan",
    "Filter",
    "Generate",
    "GivenScan",
    "GroupingSets",
    "HashAggregate",
    "HashJoin",
    "LimitOperator",
    "NestedLoopJoin",
    "Project",
    "SortOperator",
    "SplitSet",
    "StepOperator",
    "TopN",
    "UnionAll",
    "ValuesScan",
    "WindowOperator",
]
