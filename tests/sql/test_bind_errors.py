from __future__ import annotations

import pytest

from sharkpy.base.errors import (
    AmbiguousColumnError,
    BindError,
    ColumnCountError,
    ColumnNotFoundError,
    DatabaseNotFoundError,
    FunctionNotFoundError,
    SharkError,
    TableExistsError,
    TableNotFoundError,
    TypeMismatchError,
)
from sharkpy.base.settings import Conf
from sharkpy.sql.binder import bind
from tests.sql.memory_catalog import make_catalog

_CATALOG = make_catalog()


def _error(text: str) -> SharkError:
    with pytest.raises(SharkError) as caught:
        bind(text, _CATALOG, Conf(), "default")
    return caught.value


@pytest.mark.parametrize(
    ("text", "kind", "sqlstate", "place", "message", "hint"),
    [
        ("select * from lineitm", TableNotFoundError, "42S02", (1, 15), "Table not found lineitm", None),
        (
            "select * from tpch.lineitm",
            TableNotFoundError,
            "42S02",
            (1, 15),
            "Table not found tpch.lineitm",
            '"lineitem"',
        ),
        (
            "with abc as (select 1) select * from abd",
            TableNotFoundError,
            "42S02",
            (1, 38),
            "Table not found abd",
            '"abc"',
        ),
        ("select\n  l_orderky from tpch.lineitem", ColumnNotFoundError, "42703", (2, 3), '"l_orderky"', '"l_orderkey"'),
        ("select t.zz from t", ColumnNotFoundError, "42703", (1, 8), 'no column "zz" in "t"', None),
        ("select q.a from t", ColumnNotFoundError, "42703", (1, 8), 'no table or alias "q"', None),
        ("select u.s.q from u", ColumnNotFoundError, "42703", (1, 8), 'no field "q"', None),
        ("select q.* from t", ColumnNotFoundError, "42703", (1, 8), '"q"', None),
        (
            "select a from t x join u on x.a = u.a",
            AmbiguousColumnError,
            "42702",
            (1, 8),
            '"a" is ambiguous',
            "x.a or u.a",
        ),
        ("select a as k, b as k from t order by k", AmbiguousColumnError, "42702", (1, 39), '"k"', None),
        ("select t.a from t, t", AmbiguousColumnError, "42702", (1, 8), '"t.a" is ambiguous', "its own alias"),
        ("select uper(b) from t", FunctionNotFoundError, "42883", (1, 8), 'no function "uper"', '"upper"'),
        ("select sum(a, b) from t", TypeMismatchError, "42804", (1, 8), "sum does not take (int, string)", None),
        ("select a + items from t, n", TypeMismatchError, "42804", (1, 8), "is not defined", None),
        ("select a from t where items", ColumnNotFoundError, "42703", (1, 23), '"items"', None),
        ("select k from n where items", TypeMismatchError, "42804", (1, 23), "needs a boolean", None),
        ("select k from n where items = 1", TypeMismatchError, "42804", (1, 23), "cannot be compared", None),
        ("select cast(items as int) from n", TypeMismatchError, "42804", (1, 13), "cannot be cast to int", None),
        (
            "select case when true then 1 else items end from n",
            TypeMismatchError,
            "42804",
            (1, 28),
            "no common type",
            None,
        ),
        ("select a[0] from t", TypeMismatchError, "42804", (1, 8), "no element", None),
        ("select b.x from t", TypeMismatchError, "42804", (1, 8), "not a struct", None),
        ("select a, count(*) from t", BindError, "42803", (1, 8), '"a" is neither grouped', "add GROUP BY"),
        (
            "select b, a + sum(c) from t group by b",
            BindError,
            "42803",
            (1, 11),
            '"a" is neither grouped',
            "add it to GROUP BY",
        ),
        ("select b from t group by b having a > 1", BindError, "42803", (1, 35), '"a" is neither', None),
        ("select b from t group by b order by a", BindError, "42803", (1, 37), '"a" is neither', None),
        (
            "select b from t group by b having 1 < (select max(x) from u where u.a = t.a)",
            BindError,
            "42803",
            (1, 73),
            '"a" is neither',
            None,
        ),
        ("select a from t where sum(a) > 1", BindError, "42803", (1, 23), "sum is not allowed in WHERE", None),
        ("select sum(sum(a)) from t", BindError, "42803", (1, 12), "not allowed in an aggregate", None),
        ("select a from t group by sum(a)", BindError, "42803", (1, 26), "not allowed in GROUP BY", None),
        (
            "select a from t where rank() over (order by a) = 1",
            BindError,
            "42P20",
            (1, 23),
            "not allowed in WHERE",
            None,
        ),
        ("select rank() from t", BindError, "42000", (1, 8), "rank needs OVER", None),
        ("select sum(a) over w from t", BindError, "42000", (1, 20), 'no window "w"', None),
        ("select explode(items) + 1 from n", BindError, "42000", (1, 8), "must be the only item", None),
        ("select distinct a from t order by b", BindError, "42000", (1, 35), "SELECT DISTINCT", None),
        ("select a from t order by 5", BindError, "42000", (1, 26), "position 5", None),
        ("select a from t limit a", BindError, "2201W", (1, 23), "LIMIT takes a whole number", None),
        ("select a from t union select a, b from t", BindError, "42826", (1, 30), "UNION of 1 and 2 columns", None),
        ("select a from t union select s from u", TypeMismatchError, "42804", (1, 8), "no common type", None),
        ("select (select a, b from t)", BindError, "42823", (1, 16), "has one column", None),
        (
            "select a from t where a in (select a, b from t)",
            BindError,
            "42823",
            (1, 23),
            "2 columns for 1 values",
            None,
        ),
        ("select * from (values (1, 2), (3)) v", BindError, "42811", (1, 32), "row 2 of VALUES", None),
        (
            "with x(p, q) as (select 1) select * from x",
            BindError,
            "42811",
            (1, 42),
            "2 column names for 1 columns",
            None,
        ),
        ("select date '2020-02-30'", BindError, "22007", (1, 13), "not a date", None),
        ("select interval 'x' day", BindError, "22007", (1, 17), "not an interval", None),
        ("select 300Y", BindError, "22003", (1, 8), "not a tinyint", None),
        (
            "insert into t select 1, 2",
            ColumnCountError,
            "21S01",
            (1, 13),
            "takes 5 columns here, the query has 2",
            None,
        ),
        ("insert into t (a, b) values (1)", ColumnCountError, "21S01", (1, 13), "takes 2 columns", None),
        ("insert into t (a, bb) select 1, 2", ColumnNotFoundError, "42703", (1, 19), '"bb"', None),
        ("insert into t (a, a) select 1, 2", BindError, "42701", (1, 19), "listed twice", None),
        ("insert into u select 1, 2, 3", TypeMismatchError, "42804", (1, 13), 'column "s"', None),
        ("insert into tt select 1", TableNotFoundError, "42S02", (1, 13), "Table not found tt", '"t"'),
        ("create view z (x) as select a, b from t", ColumnCountError, "21S01", (1, 22), "1 columns, its query 2", None),
        ("create table z (a int, A string)", BindError, "42701", (1, 24), "defined twice", None),
        ("create table nope.z (a int)", DatabaseNotFoundError, "3F000", (1, 14), '"nope"', None),
        ("use defualt", DatabaseNotFoundError, "3F000", (1, 5), '"defualt"', '"default"'),
        ("alter table t rename to u", TableExistsError, "42S01", (1, 25), "exists already", None),
        ("drop view t", BindError, "42809", (1, 11), "is a table", "use DROP TABLE"),
        ("describe t zz", ColumnNotFoundError, "42703", (1, 12), '"zz"', None),
    ],
)
def test_each_mistake_gives_its_own_error(
    text: str, kind: type[SharkError], sqlstate: str, place: tuple[int, int], message: str, hint: str | None
) -> None:
    error = _error(text)
    assert type(error) is kind, error
    assert error.sqlstate == sqlstate
    assert message in error.message
    assert (error.line, error.column) == place
    if hint is not None:
        assert hint in str(error.hint)
    assert "#" not in error.message
    assert "\n" not in str(error)


def test_a_view_that_refers_to_itself_is_refused() -> None:
    catalog = make_catalog()
    catalog.add_view("default", "v1", "select a from t")
    catalog.add_view("default", "v2", "select a from v1")
    catalog.replace_view_text("default", "v1", "select a from v2")
    with pytest.raises(BindError, match=r"v1 -> default\.v2 -> default\.v1"):
        bind("select * from v1", catalog, Conf(), "default")


def test_an_error_inside_a_view_names_the_view() -> None:
    catalog = make_catalog()
    catalog.add_view("default", "v", "select a from t")
    catalog.replace_view_text("default", "v", "select gone from t")
    with pytest.raises(ColumnNotFoundError) as caught:
        bind("select *\nfrom v", catalog, Conf(), "default")
    assert "in the view default.v" in caught.value.message
    assert (caught.value.line, caught.value.column) == (2, 6)
