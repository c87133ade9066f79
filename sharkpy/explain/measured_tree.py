"""Tree of EXPLAIN ANALYZE: the executed operators with their measured figures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import field
from typing import TYPE_CHECKING

from sharkpy.base.errors import SharkError
from sharkpy.base.records import dataclass
from sharkpy.columnar.store import open_block
from sharkpy.execution.stages.profile import count_of, format_bytes, format_seconds, stage_summary
from sharkpy.execution.tasks.report import SCAN, STEP, OperatorFigures
from sharkpy.physical import operators
from sharkpy.physical.operators import BlockScan, ExchangeRead, FileScan, StepOperator

if TYPE_CHECKING:
    from sharkpy.execution.stages.profile import QueryProfile, StageProfile
    from sharkpy.physical.plan import PhysicalPlan

ENCODING_BLOCKS = 16
"""Largest number of blocks of a scan whose encodings are read."""

_KINDS: dict[type[PhysicalPlan], str] = {
    operators.BlockScan: SCAN,
    operators.FileScan: SCAN,
    operators.ExchangeRead: SCAN,
    operators.Filter: "filter",
    operators.Project: "project",
    operators.HashAggregate: "aggregate",
    operators.GroupingSets: "aggregate",
    operators.HashJoin: "join",
    operators.NestedLoopJoin: "join",
    operators.Expand: "join",
    operators.WindowOperator: "window",
    operators.SortOperator: "sort",
    operators.TopN: "top_n",
    operators.LimitOperator: "limit",
    operators.UnionAll: "union",
    operators.Generate: "unnest",
    operators.StepOperator: STEP,
}


Written = dict[int, tuple[int, "StageProfile"]]
"""For each exchange, the stage that wrote it, with its number."""


def written_exchanges(profile: QueryProfile) -> Written:
    """Return for each exchange of a query the stage that wrote it, with its number."""
    return {
        stage.exchange_id: (number, stage)
        for number, stage in enumerate(profile.stages, 1)
        if stage.exchange_id is not None
    }


@dataclass(slots=True)
class Figures:
    """Measured figures of one operator. None: DuckDB ran it as a part of another one."""

    rows: int | None = None
    size_bytes: int | None = None
    seconds: float | None = None

    def add(self, one: OperatorFigures) -> None:
        self.rows = one.rows
        self.size_bytes = one.size_bytes
        self.seconds = (self.seconds or 0.0) + one.seconds


@dataclass(slots=True)
class Node:
    """An operator of a stage, with the stage's relations below it."""

    plan: PhysicalPlan
    children: list[Node]
    relations: frozenset[str]
    figures: Figures = field(default_factory=Figures)

    def walk(self) -> Iterator[Node]:
        yield self
        for child in self.children:
            yield from child.walk()


def run_tree(profile: QueryProfile) -> list[str]:
    """Return the lines of the tree of a query that has run, from its result down to its scans."""
    if not profile.stages or profile.stages[-1].fragment is None:
        return []
    numbered = list(enumerate(profile.stages, 1))
    written = written_exchanges(profile)
    lines = [f"{'rows':>11} {'bytes':>9} {'time':>9}  operator"]
    lines += _stage_lines(*numbered[-1], written, 0)
    shown = {number for number, _ in written.values()} | {len(numbered)}
    lines += [
        f"stage {number}, {stage.label}: {stage_summary(stage)}" for number, stage in numbered if number not in shown
    ]
    return lines


def _stage_lines(number: int, stage: StageProfile, written: Written, depth: int) -> list[str]:
    if stage.fragment is None:
        return []
    root, others = measured_operators(stage, stage.fragment)
    lines = [_note(depth, f"stage {number}: {stage_summary(stage)}")]
    if others:
        lines.append(_note(depth, f"DuckDB chose another order, with a join of {'; of '.join(others)}"))
    return lines + _node_lines(root, written, depth)


def _node_lines(node: Node, written: Written, depth: int) -> list[str]:
    lines = [_line(node.figures, depth, node.plan.label)]
    match node.plan:
        case BlockScan() as scan:
            lines += [_note(depth + 1, text) for text in block_notes(scan)]
        case FileScan() as scan:
            lines.append(_note(depth + 1, f"{format_bytes(scan.splits.size_bytes)} of files"))
        case ExchangeRead(exchange_id) if exchange_id in written:
            number, stage = written[exchange_id]
            if stage.bytes_per_bucket:
                lines.append(_note(depth + 1, _buckets(stage.bytes_per_bucket)))
            lines += _stage_lines(number, stage, written, depth + 1)
    for child in node.children:
        lines += _node_lines(child, written, depth + 1)
    return lines


def block_notes(scan: BlockScan) -> list[str]:
    """Return notes on the blocks, bytes and encodings of the columns that a scan reads."""
    blocks = scan.blocks
    notes = [
        f"{count_of(blocks.num_kept, 'block')} kept, {blocks.num_blocks - blocks.num_kept} pruned; "
        f"{count_of(blocks.num_rows, 'row')}, "
        f"{format_bytes(blocks.column_bytes(scan.names))} encoded"
    ]
    encodings: dict[str, dict[str, None]] = {name: {} for name in scan.names}
    for handle in blocks.blocks[:ENCODING_BLOCKS]:
        try:
            block = open_block(handle)
            known = {name: block.encoding(name) for name in scan.names}
        except (SharkError, OSError):  # on another host, or removed since
            continue
        for name, encoding in known.items():
            encodings[name][encoding] = None
    texts = [f"{name} {'/'.join(sorted(used))}" for name, used in encodings.items() if used]
    if texts:
        notes.append("encodings: " + ", ".join(texts))
    return notes


# Figures to operators


def measured_operators(stage: StageProfile, fragment: PhysicalPlan) -> tuple[Node, list[str]]:
    """Return the operators of a stage with their figures, and lines for joins that the plan does not have."""
    root = planned_operators(fragment, stage.leaves)
    return root, _attribute(root, stage)


def planned_operators(fragment: PhysicalPlan, leaves: Iterable[tuple[str, PhysicalPlan]] = ()) -> Node:
    """Return the operators of a stage without figures."""
    return _nodes(fragment, iter(leaves))


def _nodes(plan: PhysicalPlan, leaves: Iterator[tuple[str, PhysicalPlan]]) -> Node:
    """Build the operators of a stage. `leaves` are its relations in the order of the scans."""
    children = [_nodes(child, leaves) for child in plan.children]
    if isinstance(plan, StepOperator):
        # The query above reads the rows of the step, and does not see the relations below it.
        name, _ = next(leaves, ("", plan))
        return Node(plan, children, frozenset((name,)))
    if children:
        return Node(plan, children, frozenset().union(*(child.relations for child in children)))
    if isinstance(plan, (BlockScan, FileScan, ExchangeRead)):
        name, _ = next(leaves, ("", plan))
        return Node(plan, [], frozenset((name,)))
    return Node(plan, [], frozenset())


def _attribute(root: Node, stage: StageProfile) -> list[str]:
    """Assign DuckDB's figures to operators of the same kind over the same inputs. Return lines for the remaining
    figures.
    """
    pool = list(stage.operators)
    nodes = list(root.walk())
    for node in nodes:
        if one := _take(pool, _KINDS.get(type(node.plan), ""), node.relations):
            node.figures.add(one)
        if node.children or not getattr(node.plan, "predicate", None):
            continue
        if one := _take(pool, "filter", node.relations):
            node.figures.add(one)
    others = []
    for one in pool:
        same = [node for node in nodes if _KINDS.get(type(node.plan)) == one.kind and node.relations == one.relations]
        if same and same[-1].figures.seconds is not None:
            same[-1].figures.seconds += one.seconds
        elif one.kind == "join" and len(one.relations) > 1:
            others.append(_other(one, stage))
    _fill(root)
    if root.figures.rows is None:
        root.figures.rows = stage.rows_out
    return others


def _take(pool: list[OperatorFigures], kind: str, relations: frozenset[str]) -> OperatorFigures | None:
    """Remove the topmost matching figures from the pool and return them."""
    for index, one in enumerate(pool):
        if one.kind == kind and one.relations == relations:
            return pool.pop(index)
    return None


def _fill(node: Node) -> None:
    for child in node.children:
        _fill(child)
    figures, below = node.figures, [child.figures.rows for child in node.children]
    match node.plan:
        case operators.UnionAll():
            figures.size_bytes = None
            figures.rows = sum(rows or 0 for rows in below) if None not in below else None
        case operators.Project() if below[0] is not None and below[0] != figures.rows:
            # DuckDB removed this projection: the figures belong to one further down.
            figures.rows, figures.size_bytes = below[0], None
        case operators.SortOperator() | operators.WindowOperator() if figures.rows is None:
            figures.rows = below[0]
    if node.figures.rows is None and isinstance(node.plan, ExchangeRead) and node.plan.observed is not None:
        node.figures.rows, node.figures.size_bytes = node.plan.observed.rows, node.plan.observed.size_bytes


def _other(one: OperatorFigures, stage: StageProfile) -> str:
    leaves = dict(stage.leaves)
    names = [getattr(leaves.get(name), "table_name", "") or _exchange_name(leaves.get(name)) for name in one.relations]
    return f"{', '.join(sorted(names))}: {one.rows:,} rows, {format_seconds(one.seconds)}"


def _exchange_name(leaf: PhysicalPlan | None) -> str:
    return f"exchange {leaf.exchange_id}" if isinstance(leaf, ExchangeRead) else "values"


# Lines


def _line(figures: Figures, depth: int, label: str) -> str:
    rows = "-" if figures.rows is None else f"{figures.rows:,}"
    size = "-" if figures.size_bytes is None else format_bytes(figures.size_bytes)
    seconds = "-" if figures.seconds is None else format_seconds(figures.seconds)
    return f"{rows:>11} {size:>9} {seconds:>9}  {'  ' * depth}{label}"


def _note(depth: int, text: str) -> str:
    return f"{'':33}{'  ' * depth}· {text}"


def _buckets(sizes: tuple[int, ...]) -> str:
    if len(sizes) == 1:
        return f"1 bucket, {format_bytes(sizes[0])}"
    return f"{len(sizes)} buckets of {format_bytes(min(sizes))} to {format_bytes(max(sizes))}"
