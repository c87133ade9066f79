"""Logical plans: relations as trees of frozen nodes, independent of their execution.

`output` is the ordered tuple of columns that a node produces. Their ids are unique in a statement.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar

from sharkpy.base.records import dataclass
from sharkpy.catalog.system_tables import with_virtual_columns
from sharkpy.plan.expr import Alias, Call, ColumnRef, Expr, SortKey
from sharkpy.plan.node import PlanNode, bracketed
from sharkpy.plan.row_steps import RowStep

if TYPE_CHECKING:
    import numpy as np

    from sharkpy.catalog.model import Table
    from sharkpy.plan.arrow_data import GivenRows
    from sharkpy.values.types import Schema


class LogicalPlan(PlanNode["LogicalPlan"]):
    """A relation. Its fields hold the relations below it and the expressions over their rows."""

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
        """Columns whose ids no node below has, other than the ids of this node's Aliases."""
        return ()


LogicalPlan.family = LogicalPlan


class Producer(LogicalPlan):
    """A node that introduces `columns`, which are its output by default."""

    __slots__ = ()
    columns: tuple[ColumnRef, ...]

    @property
    def output(self) -> tuple[ColumnRef, ...]:
        return self.columns

    @property
    def new_columns(self) -> tuple[ColumnRef, ...]:
        return self.columns


class SameColumns(LogicalPlan):
    """A node with the same output as its child."""

    __slots__ = ()
    child: LogicalPlan

    @property
    def output(self) -> tuple[ColumnRef, ...]:
        return self.child.output


@dataclass(frozen=True, slots=True)
class Scan(Producer):
    """Rows of a table. Column `columns[i]` reads the table's column `names[i]`. `predicate` was pushed down into the
    scan.

    With a `sample`, the rows are the rows of the sample that match the predicate.
    """

    table: Table
    columns: tuple[ColumnRef, ...]
    names: tuple[str, ...]
    predicate: Expr | None = None
    sample: RowSample | None = None

    @property
    def schema(self) -> Schema:
        """The table's schema, with the virtual columns that are read."""
        return with_virtual_columns(self.table, self.names)

    @property
    def is_of_files(self) -> bool:
        """Whether virtual columns are read, which blocks do not have."""
        return len(self.schema) > len(self.table.schema)

    @property
    def label(self) -> str:
        where = f" where {self.predicate}" if self.predicate else ""
        sample = f" {self.sample}" if self.sample else ""
        return f"Scan {self.table.qualified_name} {bracketed(self.columns)}{where}{sample}"


@dataclass(frozen=True, slots=True)
class Values(Producer):
    """Literal rows. `SELECT 1` without FROM is one row without columns below a Project."""

    columns: tuple[ColumnRef, ...]
    rows: tuple[tuple[Expr, ...], ...]

    @property
    def label(self) -> str:
        return f"Values {bracketed(self.columns)} {len(self.rows)} rows"


@dataclass(frozen=True, slots=True)
class Given(Producer):
    """Rows that a Python program provides. `columns` are the columns of `rows.schema`."""

    columns: tuple[ColumnRef, ...]
    rows: GivenRows

    @property
    def label(self) -> str:
        return f"Given {bracketed(self.columns)} from {self.rows.label}"


@dataclass(frozen=True, slots=True)
class SharedRows(Producer):
    """Common rows of several queries of one statement. Before planning, their plan replaces this node."""

    columns: tuple[ColumnRef, ...]

    @property
    def label(self) -> str:
        return f"SharedRows {bracketed(self.columns)}"


@dataclass(frozen=True, slots=True)
class Project(LogicalPlan):
    """Items computed from each row of the child."""

    child: LogicalPlan
    items: tuple[Alias | ColumnRef, ...]

    @property
    def output(self) -> tuple[ColumnRef, ...]:
        return tuple(item.ref if isinstance(item, Alias) else item for item in self.items)

    @property
    def label(self) -> str:
        return f"Project {bracketed(self.items)}"


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
    """Like LEFT, but more than one match for a left row is an error (scalar subquery)."""
    LATERAL = "lateral"
    """Like INNER, but the right side is computed for each left row and may use its columns. Unnesting replaces it."""
    LATERAL_LEFT = "lateral left"


LATERAL_JOINS = (JoinKind.LATERAL, JoinKind.LATERAL_LEFT)
LEFT_ONLY_JOINS = (JoinKind.SEMI, JoinKind.ANTI, JoinKind.NULL_AWARE_ANTI)


@dataclass(frozen=True, slots=True)
class Join(LogicalPlan):
    """A join. Condition None is TRUE. Semi and anti joins output only the left side."""

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
    """One row per distinct `groups`, or exactly one row without groups. DISTINCT has no aggregates.

    Items of `aggregates` are Aliases of plain AggregateCalls: the binder puts expressions around them into a Project
    above.
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
        return f"Aggregate by {bracketed(self.groups)} computing {bracketed(self.aggregates)}"


@dataclass(frozen=True, slots=True)
class Expand(Producer):
    """Each row once per grouping set: `projections[i][j]` is output column j in set i (GROUPING SETS)."""

    child: LogicalPlan
    columns: tuple[ColumnRef, ...]
    projections: tuple[tuple[Expr, ...], ...]

    @property
    def label(self) -> str:
        return f"Expand {bracketed(self.columns)} {len(self.projections)} sets"


@dataclass(frozen=True, slots=True)
class Window(LogicalPlan):
    """The child's columns and one per window. Items are Aliases of plain WindowCalls."""

    child: LogicalPlan
    windows: tuple[Alias, ...]

    @property
    def output(self) -> tuple[ColumnRef, ...]:
        return self.child.output + tuple(item.ref for item in self.windows)

    @property
    def label(self) -> str:
        return f"Window {bracketed(self.windows)}"


@dataclass(frozen=True, slots=True)
class Generate(Producer):
    """LATERAL VIEW [OUTER]: the child's columns and the columns of a table function per row."""

    child: LogicalPlan
    generator: Call
    columns: tuple[ColumnRef, ...]
    outer: bool

    @property
    def output(self) -> tuple[ColumnRef, ...]:
        return self.child.output + self.columns

    @property
    def label(self) -> str:
        return f"Generate {'outer ' if self.outer else ''}{self.generator} as {bracketed(self.columns)}"


@dataclass(frozen=True, slots=True)
class Step(Producer):
    """Rows that `step` computes from the values of `arguments`, in the order and tasks of the child.

    The output is `passed`, columns of the child that a step passes on with its rows, and the new `columns`. A step that
    needs equal rows in one task, or adjacent rows, has a Distribute and a Sort below it.
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
        return f"Step {self.step.label} of {bracketed(self.arguments)} as {bracketed(self.columns)}"


@dataclass(frozen=True, slots=True)
class Sort(SameColumns):
    """ORDER BY. `is_global` False is SORT BY, which sorts only within each task."""

    child: LogicalPlan
    keys: tuple[SortKey, ...]
    is_global: bool = True

    @property
    def label(self) -> str:
        return f"{'Sort' if self.is_global else 'SortWithin'} {bracketed(self.keys)}"


@dataclass(frozen=True, slots=True)
class Distribute(SameColumns):
    """DISTRIBUTE BY: rows with equal keys are in one task, in `num_buckets` buckets if given."""

    child: LogicalPlan
    keys: tuple[Expr, ...]
    num_buckets: int | None = None

    @property
    def label(self) -> str:
        return f"Distribute {bracketed(self.keys)}"


@dataclass(frozen=True, slots=True)
class Limit(SameColumns):
    """At most `count` rows of the child, after the first `offset`."""

    child: LogicalPlan
    count: int | None
    offset: int = 0

    @property
    def label(self) -> str:
        return f"Limit {self.count}" + (f" offset {self.offset}" if self.offset else "")


@dataclass(frozen=True, slots=True)
class Union(Producer):
    """UNION ALL of inputs with equal types. `columns` have new ids."""

    inputs: tuple[LogicalPlan, ...]
    columns: tuple[ColumnRef, ...]

    @property
    def label(self) -> str:
        return f"Union {bracketed(self.columns)}"


def with_source(query: LogicalPlan, source: LogicalPlan | None) -> LogicalPlan:
    """Return `query` with `source` in place of its SharedRows."""
    if source is None:
        return query
    return source if isinstance(query, SharedRows) else query.map_children(lambda child: with_source(child, source))


@dataclass(frozen=True, slots=True)
class RowSample:
    """A sample with each row at probability `fraction`, or with about `num_bytes` of the table's bytes.

    1. The choice of a row depends on `seed`, on the name of its split or block, and on its position there. So every
       task, retry and statement finds the same rows while the table is stored the same way.
    2. It does not depend on the row's values, on other predicates, or on the columns that are read.
    """

    fraction: float = 1.0
    seed: int = 0
    num_bytes: int | None = None

    def of_bytes(self, table_bytes: int) -> RowSample:
        """Return the sample of a table with `table_bytes` bytes, as a fraction."""
        if self.num_bytes is None:
            return self
        return RowSample(min(1.0, self.num_bytes / table_bytes) if table_bytes else 1.0, self.seed)

    def chooser(self, origin: str) -> Callable[[int], np.ndarray[Any, np.dtype[np.bool_]]]:
        """Return a function that takes the number of next rows of the split or block `origin`, and returns which of
        them are in the sample.
        """
        import numpy as np

        generator = np.random.default_rng((self.seed, zlib.crc32(origin.encode())))
        return lambda num_rows: generator.random(num_rows) < self.fraction

    def __str__(self) -> str:
        if self.num_bytes is not None:
            return f"sample of {self.num_bytes} bytes"
        return f"sample of {self.fraction:.4%}".replace(".0000%", "%")
