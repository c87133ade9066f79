"""Logical plans: relations as trees of frozen nodes, independent of how they will be run.

`output` is the ordered tuple of columns that a node produces; their ids are unique in a statement.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, ClassVar

from sharkpy.catalog.virtual_columns import with_virtual_columns
from sharkpy.plan.expr import Alias, Call, ColumnRef, Expr, SortKey
from sharkpy.plan.node import PlanNode, listed
from sharkpy.plan.row_sample import RowSample
from sharkpy.plan.steps.row_step import RowStep

if TYPE_CHECKING:
    from sharkpy.catalog.model import Table
    from sharkpy.plan.given_rows import GivenRows
    from sharkpy.values.types import Schema


class LogicalPlan(PlanNode["LogicalPlan"]):
    """A relation: its fields hold the relations below it and the expressions that it computes of their rows."""

    __slots__ = ()
    family: ClassVar[type]

    @property
    def output(self) -> tuple[ColumnRef, ...]:
        raise NotImplementedError(type(self).__name__)

    @property
    def output_ids(self) -> frozenset[int]:
        return frozenset(column.column_id for column in self.output)

    @property
    def new_columns(self) -> tuple[ColumnRef, ...]:
        """Columns under ids that no node below has, beside those that Aliases of this node make."""
        return ()


LogicalPlan.family = LogicalPlan


class Producer(LogicalPlan):
    """A node that is the first to have `columns`: its output, unless it says otherwise."""

    __slots__ = ()
    columns: tuple[ColumnRef, ...]

    @property
    def output(self) -> tuple[ColumnRef, ...]:
        return self.columns

    @property
    def new_columns(self) -> tuple[ColumnRef, ...]:
        return self.columns


class SameColumns(LogicalPlan):
    """A node whose output is that of its child."""

    __slots__ = ()
    child: LogicalPlan

    @property
    def output(self) -> tuple[ColumnRef, ...]:
        return self.child.output


@dataclass(frozen=True, slots=True)
class Scan(Producer):
    """Rows of a table; `names[i]` is the table's column behind `columns[i]`. `predicate` was pushed into it.

    With a `sample`, the rows are those of the sample that meet the predicate.
    """

    table: Table
    columns: tuple[ColumnRef, ...]
    names: tuple[str, ...]
    predicate: Expr | None = None
    sample: RowSample | None = None

    @property
    def schema(self) -> Schema:
        """The table's, with the virtual columns that are read."""
        return with_virtual_columns(self.table, self.names)

    @property
    def is_of_files(self) -> bool:
        """Whether virtual columns are read, which blocks do not have."""
        return len(self.schema) > len(self.table.schema)

    @property
    def label(self) -> str:
        where = f" where {self.predicate}" if self.predicate else ""
        sample = f" {self.sample}" if self.sample else ""
        return f"Scan {self.table.qualified_name} {listed(self.columns)}{where}{sample}"


@dataclass(frozen=True, slots=True)
class Values(Producer):
    """Literal rows; `SELECT 1` without FROM is one row of no columns below a Project."""

    columns: tuple[ColumnRef, ...]
    rows: tuple[tuple[Expr, ...], ...]

    @property
    def label(self) -> str:
        return f"Values {listed(self.columns)} {len(self.rows)} rows"


@dataclass(frozen=True, slots=True)
class Given(Producer):
    """Rows that a Python program hands over; `columns` are those of `rows.schema`."""

    columns: tuple[ColumnRef, ...]
    rows: GivenRows

    @property
    def label(self) -> str:
        return f"Given {listed(self.columns)} from {self.rows.label}"


@dataclass(frozen=True, slots=True)
class SharedRows(Producer):
    """The rows that several queries of one statement have in common; before planning, their plan takes its place."""

    columns: tuple[ColumnRef, ...]

    @property
    def label(self) -> str:
        return f"SharedRows {listed(self.columns)}"


@dataclass(frozen=True, slots=True)
class Project(LogicalPlan):
    """Items computed of each row of the child."""

    child: LogicalPlan
    items: tuple[Alias | ColumnRef, ...]

    @property
    def output(self) -> tuple[ColumnRef, ...]:
        return tuple(item.ref if isinstance(item, Alias) else item for item in self.items)

    @property
    def label(self) -> str:
        return f"Project {listed(self.items)}"


@dataclass(frozen=True, slots=True)
class Filter(SameColumns):
    """The child's rows for which `predicate` is true."""

    child: LogicalPlan
    predicate: Expr

    @property
    def label(self) -> str:
        return f"Filter {self.predicate}"


class JoinKind(Enum):
    INNER = "inner"
    LEFT = "left"
    RIGHT = "right"
    FULL = "full"
    CROSS = "cross"
    SEMI = "semi"
    ANTI = "anti"
    NULL_AWARE_ANTI = "null-aware anti"
    """`NOT IN (subquery)`: its condition is the conjunction of equalities, and NULLs make rows vanish."""
    SINGLE = "single"
    """As LEFT, but more than one match for a left row is an error (scalar subquery)."""
    LATERAL = "lateral"
    """As INNER, the right side computed for each left row, whose columns it may use. Unnesting replaces it."""
    LATERAL_LEFT = "lateral left"


LATERAL_JOINS = (JoinKind.LATERAL, JoinKind.LATERAL_LEFT)
LEFT_ONLY_JOINS = (JoinKind.SEMI, JoinKind.ANTI, JoinKind.NULL_AWARE_ANTI)


@dataclass(frozen=True, slots=True)
class Join(LogicalPlan):
    """Condition None is TRUE. Semi and anti joins output the left side alone."""

    left: LogicalPlan
    right: LogicalPlan
    kind: JoinKind
    condition: Expr | None = None
    hint: str | None = None
    """"broadcast_left" or "broadcast_right", from MAPJOIN/BROADCAST hints."""

    @property
    def output(self) -> tuple[ColumnRef, ...]:
        if self.kind in LEFT_ONLY_JOINS:
            return self.left.output
        return self.left.output + self.right.output

    @property
    def label(self) -> str:
        condition = f" on {self.condition}" if self.condition else ""
        return f"Join {self.kind.value}{condition}"


@dataclass(frozen=True, slots=True)
class Aggregate(LogicalPlan):
    """One row per distinct `groups` (without groups: exactly one row). DISTINCT has no aggregates.

    Items of `aggregates` are Aliases of an AggregateCall alone: the binder puts what surrounds it in a
    Project above.
    """

    child: LogicalPlan
    groups: tuple[Alias | ColumnRef, ...]
    aggregates: tuple[Alias, ...]

    @property
    def output(self) -> tuple[ColumnRef, ...]:
        items = self.groups + self.aggregates
        return tuple(item.ref if isinstance(item, Alias) else item for item in items)

    @property
    def label(self) -> str:
        return f"Aggregate by {listed(self.groups)} computing {listed(self.aggregates)}"


@dataclass(frozen=True, slots=True)
class Expand(Producer):
    """Each row once per grouping set: `projections[i][j]` is output column j in set i (GROUPING SETS)."""

    child: LogicalPlan
    columns: tuple[ColumnRef, ...]
    projections: tuple[tuple[Expr, ...], ...]

    @property
    def label(self) -> str:
        return f"Expand {listed(self.columns)} {len(self.projections)} sets"


@dataclass(frozen=True, slots=True)
class Window(LogicalPlan):
    """The child's columns and one per window; items are Aliases of a WindowCall alone."""

    child: LogicalPlan
    windows: tuple[Alias, ...]

    @property
    def output(self) -> tuple[ColumnRef, ...]:
        return self.child.output + tuple(item.ref for item in self.windows)

    @property
    def label(self) -> str:
        return f"Window {listed(self.windows)}"


@dataclass(frozen=True, slots=True)
class Generate(Producer):
    """LATERAL VIEW [OUTER]: the child's columns and those of a table function per row."""

    child: LogicalPlan
    generator: Call
    columns: tuple[ColumnRef, ...]
    outer: bool

    @property
    def output(self) -> tuple[ColumnRef, ...]:
        return self.child.output + self.columns

    @property
    def label(self) -> str:
        return f"Generate {'outer ' if self.outer else ''}{self.generator} as {listed(self.columns)}"


@dataclass(frozen=True, slots=True)
class Step(Producer):
    """The rows that `step` makes of the values of `arguments`, in the order and the tasks in which the child has them.

    The output is `passed`, columns of the child that a step hands on with its rows, and `columns`, which are new.
    A step that needs equal rows in one task, or side by side, stands on a Distribute and a Sort.
    """

    child: LogicalPlan
    step: RowStep
    arguments: tuple[Expr, ...]
    columns: tuple[ColumnRef, ...]
    passed: tuple[ColumnRef, ...] = ()

    @property
    def output(self) -> tuple[ColumnRef, ...]:
        return self.passed + self.columns

    @property
    def label(self) -> str:
        return f"Step {self.step.label} of {listed(self.arguments)} as {listed(self.columns)}"


@dataclass(frozen=True, slots=True)
class Sort(SameColumns):
    """ORDER BY; `is_global` False is SORT BY: within each task only."""

    child: LogicalPlan
    keys: tuple[SortKey, ...]
    is_global: bool = True

    @property
    def label(self) -> str:
        return f"{'Sort' if self.is_global else 'SortWithin'} {listed(self.keys)}"


@dataclass(frozen=True, slots=True)
class Distribute(SameColumns):
    """DISTRIBUTE BY: rows with equal keys come to one task; into `num_buckets` buckets where given."""

    child: LogicalPlan
    keys: tuple[Expr, ...]
    num_buckets: int | None = None

    @property
    def label(self) -> str:
        return f"Distribute {listed(self.keys)}"


@dataclass(frozen=True, slots=True)
class Limit(SameColumns):
    """At most `count` rows of the child, those after the first `offset`."""

    child: LogicalPlan
    count: int | None
    offset: int = 0

    @property
    def label(self) -> str:
        return f"Limit {self.count}" + (f" offset {self.offset}" if self.offset else "")


@dataclass(frozen=True, slots=True)
class Union(Producer):
    """UNION ALL of inputs with equal types; `columns` are new ids."""

    inputs: tuple[LogicalPlan, ...]
    columns: tuple[ColumnRef, ...]

    @property
    def label(self) -> str:
        return f"Union {listed(self.columns)}"


def with_source(query: LogicalPlan, source: LogicalPlan | None) -> LogicalPlan:
    """`query` with `source` in the place of its SharedRows."""
    if source is None:
        return query
    return source if isinstance(query, SharedRows) else query.map_children(lambda child: with_source(child, source))
