"""What logical and physical plans share: their expressions and the form in which they are printed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

from sharkpy.base.tree import TreeNode, held_nodes
from sharkpy.plan.expr import Expr


class PlanNode(TreeNode):
    """A node of a plan. `label` is its one line in EXPLAIN, tests, logs and errors."""

    __slots__ = ()

    @property
    def label(self) -> str:
        return type(self).__name__

    @property
    def expressions(self) -> tuple[Expr, ...]:
        """The expressions directly held by this node."""
        return tuple(held_nodes(self, Expr))

    def map_expressions(self, function: Callable[[Any], Any]) -> Self:
        return self.map_fields(Expr, function)

    def explain(self) -> str:
        """The tree, one label a line, children indented by two spaces."""
        lines = [self.label]
        for child in self.children:
            lines += ["  " + line for line in child.explain().splitlines()]
        return "\n".join(lines)


def listed(items: tuple[object, ...]) -> str:
    """Items as labels print them."""
    return "[" + ", ".join(map(str, items)) + "]"
