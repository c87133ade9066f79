from __future__ import annotations

import sys

from sharkpy.base.tree import held_nodes
from sharkpy.plan.expr import Call, ColumnRef, Expr, Literal
from sharkpy.values.types import INT, STRING

A, B, C = (ColumnRef(number, name, INT) for number, name in enumerate("abc"))


def _sum(*args: Expr) -> Call:
    return Call("add", args, INT)


def test_children_are_in_the_order_of_fields_through_tuples() -> None:
    assert _sum(B, A, B).children == (B, A, B)
    assert A.children == ()


def test_held_nodes_are_those_of_the_family_alone() -> None:
    assert held_nodes(_sum(A, Literal(1, INT)), Expr) == [A, Literal(1, INT)]
    assert held_nodes(_sum(A, B), type(STRING)) == []


def test_walk_gives_parents_before_children_and_left_before_right() -> None:
    inner, other = _sum(A, B), _sum(C)
    tree = _sum(inner, other)
    assert list(tree.walk()) == [tree, inner, A, B, other, C]


def test_walk_goes_deeper_than_the_stack() -> None:
    tree: Expr = A
    for _ in range(2 * sys.getrecursionlimit()):
        tree = _sum(tree)
    assert sum(1 for _ in tree.walk()) == 2 * sys.getrecursionlimit() + 1
