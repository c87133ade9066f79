"""Operators that pass on, compute, repeat, sort or cut the rows of each task."""

from __future__ import annotations

from sharkpy.base.records import dataclass
from sharkpy.physical.plan import Distribution, Hashed, PhysicalPlan, retained, union_distribution
from sharkpy.plan.expr import Alias, Call, ColumnRef, Expr, SortKey
from sharkpy.plan.node import bracketed
from sharkpy.plan.row_steps import RowStep


@dataclass(frozen=True, slots=True)
class Project(PhysicalPlan):
    child: PhysicalPlan
    items: tuple[Alias | ColumnRef, ...]

    @property
    def output(self) -> tuple[ColumnRef, ...]:
        return tuple(item.ref if isinstance(item, Alias) else item for item in self.items)

    @property
    def distribution(self) -> Distribution:
        below = self.child.distribution
        if not isinstance(below, Hashed):
            return below
        return retained(
            Hashed(tuple(self._renamed().get(key, key) for key in below.keys), below.num_buckets), self.output
        )

    def _renamed(self) -> dict[int, int]:
        """Columns of the child that only get a new id."""
        kept = {item.column_id for item in self.items if isinstance(item, ColumnRef)}
        aliases = [item for item in self.items if isinstance(item, Alias)]
        return {
            alias.expr.column_id: alias.column_id
            for alias in reversed(aliases)
            if isinstance(alias.expr, ColumnRef) and alias.expr.column_id not in kept
        }

    @property
    def label(self) -> str:
        return f"Project {bracketed(self.items)}"


@dataclass(frozen=True, slots=True)
class Filter(PhysicalPlan):
    child: PhysicalPlan
    predicate: Expr

    @property
    def output(self) -> tuple[ColumnRef, ...]:
        return self.child.output

    @property
    def distribution(self) -> Distribution:
        return self.child.distribution

    @property
    def label(self) -> str:
        return f"Filter {self.predicate}"


@dataclass(frozen=True, slots=True)
class Generate(PhysicalPlan):
    """Rows with their generated rows; `outer` keeps a row without generated rows, with NULLs."""

    child: PhysicalPlan
    generator: Call
    columns: tuple[ColumnRef, ...]
    outer: bool

    @property
    def output(self) -> tuple[ColumnRef, ...]:
        return self.child.output + self.columns

    @property
    def distribution(self) -> Distribution:
        return self.child.distribution

    @property
    def label(self) -> str:
        return f"Generate {'outer ' if self.outer else ''}{self.generator} as {bracketed(self.columns)}"


@dataclass(frozen=True, slots=True)
class Expand(PhysicalPlan):
    """Repetition of the child's rows; `projections[i][j]` computes output column j in set i."""

    child: PhysicalPlan
    columns: tuple[ColumnRef, ...]
    projections: tuple[tuple[Expr, ...], ...]

    @property
    def output(self) -> tuple[ColumnRef, ...]:
        return self.columns

    @property
    def distribution(self) -> Distribution:
        return retained(self.child.distribution, ())

    @property
    def label(self) -> str:
        return f"Expand {bracketed(self.columns)} {len(self.projections)} sets"


@dataclass(frozen=True, slots=True)
class StepOperator(PhysicalPlan):
    """Step of Python code; the child's columns are `passed`, then the step's arguments."""

    child: PhysicalPlan
    step: RowStep
    columns: tuple[ColumnRef, ...]
    passed: tuple[ColumnRef, ...] = ()

    @property
    def output(self) -> tuple[ColumnRef, ...]:
        return self.passed + self.columns

    @property
    def distribution(self) -> Distribution:
        return retained(self.child.distribution, self.output)

    @property
    def label(self) -> str:
        return f"Step {self.step.label} as {bracketed(self.columns)}"


@dataclass(frozen=True, slots=True)
class UnionAll(PhysicalPlan):
    """Rows of all `inputs`; column i of each input becomes `columns[i]`."""

    inputs: tuple[PhysicalPlan, ...]
    columns: tuple[ColumnRef, ...]

    @property
    def output(self) -> tuple[ColumnRef, ...]:
        return self.columns

    @property
    def distribution(self) -> Distribution:
        return union_distribution(tuple(child.distribution for child in self.inputs))

    @property
    def label(self) -> str:
        return f"UnionAll {bracketed(self.columns)}"


@dataclass(frozen=True, slots=True)
class SortOperator(PhysicalPlan):
    child: PhysicalPlan
    keys: tuple[SortKey, ...]

    @property
    def output(self) -> tuple[ColumnRef, ...]:
        return self.child.output

    @property
    def distribution(self) -> Distribution:
        return self.child.distribution

    @property
    def label(self) -> str:
        return f"Sort {bracketed(self.keys)}"


@dataclass(frozen=True, slots=True)
class TopN(PhysicalPlan):
    """Rows [offset, offset + count) of each task by `keys`, in that order."""

    child: PhysicalPlan
    keys: tuple[SortKey, ...]
    count: int
    offset: int = 0

    @property
    def output(self) -> tuple[ColumnRef, ...]:
        return self.child.output

    @property
    def distribution(self) -> Distribution:
        return self.child.distribution

    @property
    def label(self) -> str:
        offset = f" offset {self.offset}" if self.offset else ""
        return f"TopN {self.count}{offset} {bracketed(self.keys)}"


@dataclass(frozen=True, slots=True)
class LimitOperator(PhysicalPlan):
    """Rows [offset, offset + count) of each task; if count is None, all after the offset."""

    child: PhysicalPlan
    count: int | None
    offset: int = 0

    @property
    def output(self) -> tuple[ColumnRef, ...]:
        return self.child.output

    @property
    def distribution(self) -> Distribution:
        return self.child.distribution

    @property
    def label(self) -> str:
        return f"Limit {self.count}" + (f" offset {self.offset}" if self.offset else "")
