"""Physical plans cut into stages at their Exchanges (SPEC P2, P5).

The runner's calls, in order: `next_exchange`; where it is a range exchange, `sample_plan` and
`range_bounds`; `lower_stage(exchange.child, sink_of(...))`, run; `replace_exchange` by `read_of(...)`;
`replan`; and again, until no Exchange is left; then `lower_stage` of the rest with its own sink.
"""

from __future__ import annotations

from dataclasses import dataclass

from sharkpy.base.errors import InternalError
from sharkpy.physical.distribution import (
    BroadcastPartitioning,
    ExchangeStatistics,
    HashPartitioning,
    RangePartitioning,
    Single,
    SinglePartitioning,
)
from sharkpy.physical.lowering.lower_fragment import lower_fragment
from sharkpy.physical.operators import BlockScan, Exchange, ExchangeRead, FileScan, GivenScan
from sharkpy.physical.plan import PhysicalPlan, column_name
from sharkpy.physical.replan import Decision, replan
from sharkpy.physical.replan.reduce_sides import reducible_exchanges
from sharkpy.physical.stage import (
    BroadcastSink,
    HashSink,
    RangeSink,
    SingleSink,
    StageProgram,
    StageSink,
    TaskInput,
)
from sharkpy.physical.task_inputs import deal
from sharkpy.values.types import is_nested

__all__ = [
    "Decision",
    "LoweredStage",
    "lower_stage",
    "next_exchange",
    "read_of",
    "replace_exchange",
    "replace_node",
    "replan",
    "sink_of",
]


@dataclass(frozen=True, slots=True)
class LoweredStage:
    """One program and the parts of the data that its tasks read; task i reads bucket i of its exchanges."""

    program: StageProgram
    tasks: tuple[TaskInput, ...]
    leaves: tuple[tuple[str, PhysicalPlan], ...] = ()
    """The scans and exchange reads behind the program's relations, by name."""


def next_exchange(plan: PhysicalPlan) -> Exchange | None:
    """An Exchange with none below it: of several, the one expected to move the fewest bytes.

    Sides that another side may reduce wait for it.
    """
    waiting = reducible_exchanges(plan)
    ready = [
        node
        for node in plan.walk()
        if isinstance(node, Exchange) and not any(isinstance(below, Exchange) for below in node.child.walk())
    ]
    return min(ready, key=lambda exchange: (exchange.exchange_id in waiting, *_order(exchange)), default=None)


def _order(exchange: Exchange) -> tuple[int, int]:
    size = exchange.estimated_bytes
    return (size if size is not None else 1 << 62, exchange.exchange_id)


def read_of(exchange: Exchange, observed: ExchangeStatistics | None) -> ExchangeRead:
    return ExchangeRead(exchange.exchange_id, exchange.output, exchange.partitioning, observed)


def replace_exchange(plan: PhysicalPlan, exchange_id: int, read: ExchangeRead) -> PhysicalPlan:
    """`plan` with an Exchange that has run replaced by the read of its output."""

    def replace(node: PhysicalPlan) -> PhysicalPlan:
        return read if isinstance(node, Exchange) and node.exchange_id == exchange_id else node

    return plan.transform_up(replace)


def replace_node(plan: PhysicalPlan, old: PhysicalPlan, new: PhysicalPlan) -> PhysicalPlan:
    """`plan` with the very node `old` replaced."""
    return new if plan is old else plan.map_children(lambda child: replace_node(child, old, new))


def sink_of(exchange: Exchange, bounds: bytes = b"") -> StageSink:
    """The sink of the exchange's map stage; a range exchange needs its `bounds`."""
    match exchange.partitioning:
        case HashPartitioning(keys, num_buckets, spread):
            return HashSink(tuple(column_name(key.column_id) for key in keys), num_buckets, spread)
        case RangePartitioning(keys, num_buckets):
            names = (
                (column_name(key.expr.column_id), key.ascending, key.nulls_first)  # type: ignore[attr-defined]
                for key in keys
            )
            types = tuple(key.dtype for key in keys)
            return RangeSink(tuple(names), bounds, num_buckets, types if any(map(is_nested, types)) else ())
        case SinglePartitioning():
            return SingleSink()
        case BroadcastPartitioning():
            return BroadcastSink()
    raise InternalError(f"{exchange.label} has no sink")


def lower_stage(
    fragment: PhysicalPlan, sink: StageSink, parallelism: int = 2, num_tasks: int | None = None
) -> LoweredStage:
    """The program of a fragment without Exchanges, and its tasks: `num_tasks`, or as many as it asks for."""
    lowered = lower_fragment(fragment)
    program = StageProgram(lowered.sql, lowered.inputs, fragment.schema, sink, lowered.functions)
    scans = {name: leaf for name, leaf in lowered.leaves if isinstance(leaf, (BlockScan, FileScan))}
    return LoweredStage(program, deal(scans, num_tasks or _num_buckets(fragment), parallelism), lowered.leaves)


def _num_buckets(fragment: PhysicalPlan) -> int | None:
    """How many tasks the exchanges that feed a fragment ask for; None where only its scans decide."""
    if isinstance(fragment.distribution, Single):
        return 1
    reads = [node for node in fragment.walk() if isinstance(node, ExchangeRead)]
    fed = [read.num_tasks for read in reads if not isinstance(read.partitioning, BroadcastPartitioning)]
    scans = [node for node in fragment.walk() if isinstance(node, (BlockScan, FileScan))]
    given = [node.rows.num_parts for node in fragment.walk() if isinstance(node, GivenScan)]
    if not fed:
        return max(given) if given else None if scans else 1
    by_bucket = [scan.buckets.num_buckets for scan in scans if isinstance(scan, BlockScan) and scan.buckets]
    return max(fed + by_bucket)
