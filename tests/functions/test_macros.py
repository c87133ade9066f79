"""Macros: expressions over parameters."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import sharkpy
from sharkpy.base.errors import SharkError


@pytest.fixture
def session(driver: sharkpy.SharkContext) -> Iterator[sharkpy.SharkContext]:
    """A session with macros of its own."""
    opened = driver.new_session()
    yield opened
    opened.stop()


def test_a_macro_changes_while_plans_are_known(session: sharkpy.SharkContext) -> None:
    found = []
    for factor in (2, 3):
        session.sql(f"CREATE TEMPORARY MACRO scaled(x BIGINT) x * {factor}")
        found.append(session.sql("SELECT scaled(id) FROM (SELECT 5 AS id) t").fetchall()[0][0])
    assert found == [10, 15]


def test_a_macro_of_a_user_s_function(session: sharkpy.SharkContext, driver: sharkpy.SharkContext) -> None:
    session.register_function("doubled", lambda x: 2 * x, "bigint", ["bigint"])
    session.sql("CREATE TEMPORARY MACRO fourfold(x BIGINT) doubled(doubled(x))")
    assert session.sql("SELECT fourfold(id) FROM (SELECT 3 AS id) t").fetchall() == [(12,)]
    with pytest.raises(SharkError, match='no function "fourfold"'):
        driver.sql("SELECT fourfold(1)")


def test_recursion_is_refused_however_it_comes(session: sharkpy.SharkContext) -> None:
    session.sql("CREATE TEMPORARY MACRO one(x INT) x + 1")
    session.sql("CREATE TEMPORARY MACRO two(x INT) one(x) + 1")
    for text in ("one(x)", "two(x)", "coalesce(two(x), 1)"):
        with pytest.raises(SharkError, match="the macro one calls itself"):
            session.sql(f"CREATE TEMPORARY MACRO one(x INT) {text}")
    assert session.sql("SELECT two(1)").fetchall() == [(3,)]
