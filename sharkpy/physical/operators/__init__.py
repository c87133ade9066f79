"""Physical operators, one per file."""

from sharkpy.physical.operators.block_scan import BlockScan, BlockSet
from sharkpy.physical.operators.exchange import Exchange, ExchangeRead
from sharkpy.physical.operators.expand import Expand
from sharkpy.physical.operators.file_scan import FileScan, SplitSet
from sharkpy.physical.operators.filter import Filter
from sharkpy.physical.operators.generate import Generate
from sharkpy.physical.operators.given_scan import GivenScan
from sharkpy.physical.operators.hash_aggregate import AggregateMode, HashAggregate
from sharkpy.physical.operators.join import LEFT_PRESERVED, RIGHT_PRESERVED, HashJoin, NestedLoopJoin
from sharkpy.physical.operators.limit import LimitOperator
from sharkpy.physical.operators.project import Project
from sharkpy.physical.operators.sort import SortOperator
from sharkpy.physical.operators.step import StepOperator
from sharkpy.physical.operators.top_n import TopN
from sharkpy.physical.operators.union_all import UnionAll
from sharkpy.physical.operators.values_scan import ValuesScan
from sharkpy.physical.operators.window import WindowOperator

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
