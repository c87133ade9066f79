"""Hints for the syntax of other systems and for slips: each error says what to write instead."""

from __future__ import annotations

import pytest

from sharkpy.base.errors import SharkError
from sharkpy.base.settings import Conf
from sharkpy.sql.binder import bind
from sharkpy.udf import registry
from sharkpy.udf.unavailable_functions import INSTEAD
from tests.sql.memory_catalog import make_catalog

_CATALOG = make_catalog()


@pytest.mark.parametrize(
    ("text", "place", "hint"),
    [
        ("select * form t", 10, '"FROM"'),
        ("select a form t", 15, '"FROM"'),
        ("select a from t whree a = 1", 23, '"WHERE"'),
        ("select a from t jion u on true", 22, '"JOIN"'),
        ("select a from t x whree a = 1", 19, '"WHERE"'),
        ("select a from t order a", 23, "ORDER BY"),
        ("select a from t group a", 23, "GROUP BY"),
        ("select top 3 a from t", 12, "LIMIT"),
        ("select distinct on (a) b from t", 8, "QUALIFY"),
        ("select a from t left u on true", 17, "JOIN"),
        ("select a from t where a = 1 && b = 'x'", 29, "AND"),
        ("select a from t where a => 1", 25, ">="),
        ("select a from t where exists select 1", 30, "(SELECT"),
        ("select a from t # what", 17, "--"),
        ("select a from t // what", 17, "--"),
        ("select 'it's'", 13, r"\'"),
        ("select 1 /* what", 10, "*/"),
        ("select a from t where b = Ann", 27, "'Ann'"),
        ("select a from t where b in (Ann)", 29, "'Ann'"),
        ("insert into u values (x, 'y')", 23, "'x'"),
        ("select a as k from t where k = 1", 28, "select items"),
        ("select x.a from t y", 8, "there is y"),
        ("select zzz from u", 8, "there are"),
        ("select a from t where sum(a) > 1", 23, "HAVING"),
        ("select a from t where rank() over (order by a) = 1", 23, "QUALIFY"),
        ("select count(distinct *) from t", 8, "columns"),
        ("select [a] from t", 9, "`…`"),
        ("select 1 + * from t", 12, "count(*)"),
        ("select ifnull(a) from t", 8, "ifnull(x, default)"),
        ("select date_add('2024-01-01') from t", 8, "date_add(date, days)"),
        ("select getdate()", 8, "current_timestamp()"),
        ("select iif(a, 1, 2) from t", 8, "if(condition"),
        ("select a from t where any (select 1) = a", 35, "on the right of a comparison"),
        ("select a from t where a = ?", 27, "cursor.execute"),
        ("select a$b from t", 9, "in backquotes"),
        ("select collect_list(a order by b) from t", 21, "sort_array"),
        ("alter table t drop column a", 15, "REPLACE COLUMNS"),
        ("alter table t rename column a to z", 15, "CHANGE"),
        ("alter table t modify a bigint", 15, "CHANGE"),
        ("begin", 1, "transaction"),
        ("call f()", 1, "procedures"),
        ("optimize t", 1, "CONCATENATE"),
    ],
)
def test_errors_say_what_to_write(text: str, place: int, hint: str) -> None:
    with pytest.raises(SharkError) as caught:
        bind(text, _CATALOG, Conf(), "default")
    error = caught.value
    assert (error.line, error.column) == (1, place), error
    assert hint in (error.hint or ""), error


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("select a from t limit 1 order by a", "ORDER BY must come before LIMIT"),
        ("select a from t order by a where a = 1", "WHERE must come before ORDER BY"),
        ("select b from t group by b where a = 1", "WHERE must come before GROUP BY"),
        ("select b from t having count(*) > 1 group by b", "GROUP BY must come before HAVING"),
        ("select a from t limit 1 where a = 1", "WHERE must come before LIMIT"),
        ("select a from (select a from t limit 1 order by a) x", "ORDER BY must come before LIMIT"),
        ("select a from t limit 1 limit 2", "one LIMIT expected"),
        ("select a from t where a = 1 where a = 2", "one WHERE expected"),
        ("select a from t limit 1 union all select a from t", "parentheses around a query with LIMIT before UNION"),
        ("select a from t order by a union select a from t", "parentheses around a query with ORDER BY before UNION"),
    ],
)
def test_clauses_have_an_order(text: str, message: str) -> None:
    with pytest.raises(SharkError, match=message) as caught:
        bind(text, _CATALOG, Conf(), "default")
    assert caught.value.sqlstate == "42601"


@pytest.mark.parametrize(
    "text",
    [
        "select a from t where a = 1 order by a limit 1",
        "select b, count(*) from t where a = 1 group by b having count(*) > 1 order by b limit 2 offset 1",
        "select a from t sort by a distribute by b",
        "select a, rank() over w r from t window w as (order by a) qualify r = 1 order by a",
        "(select a from t order by a limit 1) union all select a from t order by a limit 3",
    ],
)
def test_clauses_in_order(text: str) -> None:
    bind(text, _CATALOG, Conf(), "default")


@pytest.mark.parametrize("name", INSTEAD)
def test_foreign_names_are_not_functions(name: str) -> None:
    found = (registry.scalar, registry.aggregate, registry.window, registry.table_function)
    assert not any(find(name) for find in found)
