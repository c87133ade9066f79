"""Scopes of wide tables and of joins: a lookup costs what its name costs."""

from __future__ import annotations

import pytest

from sharkpy.plan.expr import ColumnRef
from sharkpy.sql import scope as scopes
from sharkpy.sql.scope import Scope, ScopeColumn, relation_scope
from sharkpy.values.types import INT

A, B, OTHER_A = (ColumnRef(number, name, INT) for number, name in enumerate(("a", "b", "a")))


def _found(scope: Scope, *parts: str) -> list[ColumnRef | object]:
    found = scope.find(parts)
    return [] if found is None else [column.expr for column in found.columns]


def test_a_join_finds_the_columns_of_both_sides() -> None:
    joined = relation_scope("t", None, (A, B), None) + relation_scope("u", "db", (OTHER_A,), None)
    assert _found(joined, "a") == [A, OTHER_A]
    assert _found(joined, "t", "a") == [A]
    assert _found(joined, "db", "u", "a") == [OTHER_A]
    assert _found(joined, "u", "b") == []
    assert joined.relations == {"t", "u"}
    assert [column.expr for column in joined.columns] == [A, B, OTHER_A]


def test_hidden_columns_can_be_named_and_are_not_shown() -> None:
    scope = relation_scope("t", None, (A,), None, (B,))
    assert _found(scope, "b") == [B]
    assert [column.expr for column in scope.columns] == [A]
    assert [column.expr for column in scope.hidden] == [B]


def test_merged_columns_hide_the_names_of_both_sides() -> None:
    merged = ScopeColumn(None, None, "a", A)
    sides = [ScopeColumn(name, None, "a", column, True) for name, column in (("t", A), ("u", OTHER_A))]
    scope = Scope([merged, *sides]) + relation_scope("v", None, (B,), None)
    assert _found(scope, "a") == [A]
    assert _found(scope, "u", "a") == [OTHER_A]
    assert _found(scope, "b") == [B]


def test_only_the_columns_that_a_query_names_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []

    def make(relation: str | None, database: str | None, name: str, column: ColumnRef) -> ScopeColumn:
        made.append(name)
        return ScopeColumn(relation, database, name, column)

    monkeypatch.setattr(scopes, "ScopeColumn", make)
    wide = relation_scope("t", None, tuple(ColumnRef(number, f"c{number}", INT) for number in range(1000)), None)
    joined = (wide + relation_scope("u", None, (A,), None)).taking_aggregates()
    assert [column.column_id for column in map(_ref, _found(joined, "c7"))] == [7]
    assert _found(joined, "nothing") == []
    assert made == ["c7"]


def _ref(expr: object) -> ColumnRef:
    assert isinstance(expr, ColumnRef)
    return expr
