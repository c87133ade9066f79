"""Bound plans as text. `UPDATE_PLANS=1 pytest tests/sql/test_plans.py` writes them again: read the diff."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sharkpy.base.errors import SharkError
from sharkpy.plan.logical import LogicalPlan
from sharkpy.plan.references import free_column_ids
from sharkpy.plan.subqueries import SUBQUERIES
from tests.sql.memory_catalog import MemoryCatalog, make_catalog, plan_of

_FOLDER = Path(__file__).parent / "plans"
_FILES = sorted(_FOLDER.glob("*.plans"))


def _catalog() -> MemoryCatalog:
    catalog = make_catalog()
    catalog.add_view("default", "v", "select a as k, b from t where c > 1")
    catalog.add_view("other", "w", "select z, z + 1 as z1 from t")
    return catalog


def _blocks(text: str) -> list[tuple[str, str]]:
    """(query, plan) pairs of a file: a query ends with `;`, its plan with an empty line."""
    blocks = []
    for block in text.strip().split("\n\n"):
        query, _, plan = block.strip().partition(";\n")
        blocks.append((query.removesuffix(";"), plan.strip()))
    return blocks


def _with_subqueries(plan: LogicalPlan) -> str:
    """The plan, and below it the plans of the subqueries in its expressions, with the outer columns they use."""
    lines = [plan.explain()]
    for node in plan.walk():
        for expr in node.expressions:
            for inner in expr.walk():
                if isinstance(inner, SUBQUERIES):
                    outer = sorted(free_column_ids(inner.plan))
                    lines.append(f"{type(inner).__name__} of outer columns {outer}:")
                    lines += ["  " + line for line in _with_subqueries(inner.plan).splitlines()]
    return "\n".join(lines)


def _explain(query: str, catalog: MemoryCatalog) -> str:
    try:
        return _with_subqueries(plan_of(query, catalog))
    except SharkError as error:
        return f"{type(error).__name__}: {error}"


@pytest.mark.parametrize("path", _FILES, ids=lambda path: path.stem)
def test_plans_are_as_recorded(path: Path) -> None:
    catalog = _catalog()
    blocks = _blocks(path.read_text())
    found = [(query, _explain(query, catalog)) for query, _ in blocks]
    if os.environ.get("UPDATE_PLANS"):
        path.write_text("\n\n".join(f"{query};\n{plan}" for query, plan in found) + "\n")
        return
    assert found == blocks
