"""Joins of two sides by a condition."""

from __future__ import annotations

from dataclasses import field

from sharkpy.base.records import dataclass
from sharkpy.optimizer.decisions import BROADCAST_SIDES, JoinDistribution
from sharkpy.physical.operators.scans import bucketed_scan, co_partitioned
from sharkpy.physical.plan import Broadcast, Distribution, PhysicalPlan, Unspecified
from sharkpy.plan.expr import ColumnRef, Expr
from sharkpy.plan.logical import LEFT_ONLY_JOINS, JoinKind

LEFT_PRESERVED = tuple(kind for kind, sides in BROADCAST_SIDES.items() if JoinDistribution.BROADCAST_RIGHT in sides)
"""Kinds of join whose result rows each belong to one left row, so that the right side may be broadcast."""
RIGHT_PRESERVED = tuple(kind for kind, sides in BROADCAST_SIDES.items() if JoinDistribution.BROADCAST_LEFT in sides)
"""Kinds of join whose result rows each belong to one right row, so that the left side may be broadcast."""


@dataclass(frozen=True, slots=True)
class _Join(PhysicalPlan):
    """Join on `left_keys[i] = right_keys[i]` and the `residual` condition.

    `null_safe[i]` makes an equality hold between NULLs. `checks_single` is False for a SINGLE join whose right side is
    known to match at most once. `repeats`: whether keys repeat on the left and on the right side, by estimate;
    None: no estimate.
    """

    left: PhysicalPlan
    right: PhysicalPlan
    kind: JoinKind
    left_keys: tuple[Expr, ...] = ()
    right_keys: tuple[Expr, ...] = ()
    null_safe: tuple[bool, ...] = ()
    residual: Expr | None = None
    checks_single: bool = True
    repeats: tuple[bool, bool] | None = field(default=None, compare=False)
    """Estimate of the plan's making, left out of equality: a kept plan has an older one, as it has an older order."""

    @property
    def multiplies(self) -> bool:
        """Whether keys repeat on both sides, by estimate. DuckDB does not expect it."""
        return self.repeats == (True, True)

    @property
    def output(self) -> tuple[ColumnRef, ...]:
        if self.kind in LEFT_ONLY_JOINS:
            return self.left.output
        return self.left.output + self.right.output

    @property
    def distribution(self) -> Distribution:
        left, right = self.left.distribution, self.right.distribution
        if isinstance(right, Broadcast):
            return left
        if isinstance(left, Broadcast):
            return right
        if self.kind in LEFT_PRESERVED:
            return left
        return right if self.kind in RIGHT_PRESERVED or left == right else Unspecified()

    @property
    def condition(self) -> str:
        signs = ("<=>" if safe else "=" for safe in self.null_safe)
        terms = [f"{a} {sign} {b}" for a, sign, b in zip(self.left_keys, signs, self.right_keys, strict=True)]
        return " AND ".join(terms + ([str(self.residual)] if self.residual else []))


@dataclass(frozen=True, slots=True)
class HashJoin(_Join):
    """Join with equalities: the right side is hashed, the left side probes it."""

    @property
    def label(self) -> str:
        side = {True: " broadcast right", False: ""}[isinstance(self.right.distribution, Broadcast)]
        if isinstance(self.left.distribution, Broadcast):
            side = " broadcast left"
        elif (scan := bucketed_scan(self.left)) and bucketed_scan(self.right) and scan.buckets:
            side = f" {co_partitioned(scan.buckets)}"
        return f"HashJoin {self.kind.value}{side} on {self.condition}"


@dataclass(frozen=True, slots=True)
class NestedLoopJoin(_Join):
    """Join without equalities."""

    @property
    def label(self) -> str:
        on = f" on {self.residual}" if self.residual else ""
        return f"NestedLoopJoin {self.kind.value}{on}"
