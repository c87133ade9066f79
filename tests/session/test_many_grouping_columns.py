"""Grouping sets of more columns than GROUPING__ID has bits for."""

from __future__ import annotations

import pytest

import sharkpy
from sharkpy.base.errors import BindError

NAMES = [f"c{number}" for number in range(70)]
ALL = ", ".join(NAMES)
_OTHERS = ", ".join(f"{name[1:]} AS {name}" for name in NAMES[1:])
ROWS = f"(SELECT a AS c0, {_OTHERS} FROM VALUES (1), (1), (2) AS v(a)) t"


def test_sets(context: sharkpy.SharkContext) -> None:
    """Equal sets count once, as with fewer columns."""
    sets = f"GROUPING SETS (({ALL}), (c0), (c69), (c0), ())"
    query = f"SELECT c0, c69, grouping(c0), grouping(c0, c69), count(*) FROM {ROWS} GROUP BY {ALL} {sets}"
    found = [tuple(row) for row in context.sql(query).fetchall()]
    whole = [(1, 69, 0, 0, 2), (2, 69, 0, 0, 1)]
    parts = [(1, None, 0, 1, 2), (2, None, 0, 1, 1), (None, 69, 1, 2, 3), (None, None, 1, 3, 3)]
    assert sorted(found, key=str) == sorted(whole + parts, key=str)


def test_rollup(context: sharkpy.SharkContext) -> None:
    rollup = f"SELECT count(*) AS n, grouping(c69) AS g FROM {ROWS} GROUP BY {ALL} WITH ROLLUP"
    query = f"SELECT count(*), sum(n), sum(g) FROM ({rollup}) r"
    assert context.sql(query).fetchall() == [(2 * 70 + 1, 3 * 71, 2 * 69 + 1)]


@pytest.mark.parametrize("call", ["GROUPING__ID", "grouping_id()", f"grouping({ALL})", f"grouping_id({ALL})"])
def test_ids_are_refused_at_their_place(context: sharkpy.SharkContext, call: str) -> None:
    with pytest.raises(BindError, match=r"bits for 63 .*columns, not 70") as caught:
        context.sql(f"SELECT c0, {call} FROM {ROWS} GROUP BY {ALL} WITH ROLLUP")
    assert (caught.value.sqlstate, caught.value.line, caught.value.column) == ("54000", 1, 12)
