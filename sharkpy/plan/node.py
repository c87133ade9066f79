"""The base of logical and physical plans: expressions of a node, and the printed form of plans."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self, TypeVar

from sharkpy.base.tree import TreeNode
from sharkpy.plan.expr import ColumnRef, Expr

P = TypeVar("P", bound="PlanNode[Any]")


class PlanNode(TreeNode[P]):
    """A node of a plan. `label` is its one line in EXPLAIN, tests, logs and errors."""

    __slots__ = ("__weakref__",)

    @property
    def label(self) -> str:
        return type(self).__name__

    @property
    def expressions(self) -> tuple[Expr, ...]:
        """The expressions that this node holds directly."""
        return self.held(Expr)

    @property
    def computations(self) -> tuple[Expr, ...]:
        """The expressions that this node holds directly and that are not columns. A scan has a column for each that it
        reads.
        """
        return tuple([expr for expr in self.held(Expr) if not isinstance(expr, ColumnRef)])

    def map_expressions(self, function: Callable[[Expr], Expr]) -> Self:
        return self.map_held(Expr, function)

    def explain(self) -> str:
        """Return the tree as text, one label per line, with children indented by two spaces."""
        lines = []
        waiting: list[tuple[PlanNode[Any], int]] = [(self, 0)]
        while waiting:
            node, depth = waiting.pop()
            lines.append("  " * depth + node.label)
            waiting += [(child, depth + 1) for child in reversed(node.children)]
        return "\n".join(lines)


def bracketed(items: tuple[object, ...]) -> str:
    """Return items as labels print them."""
    return "[" + ", ".join(map(str, items)) + "]"
