"""Columns of views: the text that a view keeps for `*`, and the columns of its query when that has changed."""

from __future__ import annotations

import dataclasses

import pytest

from sharkpy.base.errors import BindError
from sharkpy.base.settings import Conf
from sharkpy.catalog.model import Table, TableKind
from sharkpy.plan.commands import CreateView
from sharkpy.sql.binder import bind
from sharkpy.values.type_parser import parse_type
from sharkpy.values.types import Field, Schema
from tests.sql.memory_catalog import MemoryCatalog, plan_of


@pytest.fixture
def catalog() -> MemoryCatalog:
    catalog = MemoryCatalog()
    catalog.add("default", "t", "a int, b string, s struct<x:int,y:int>")
    catalog.add("default", "u", "a int, c double")
    catalog.add("default", "v1", "a int")
    catalog.add("other", "t", "a int, z int")
    return catalog


def view_of(catalog: MemoryCatalog, query: str, columns: str = "", conf: Conf | None = None) -> CreateView:
    command = bind(f"create view v {columns} as {query}", catalog, conf or Conf(), "default")
    assert isinstance(command, CreateView)
    assert command.written == query
    return command


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("select a from t", "select a from t"),
        ("select count(*), a * 2 from t group by a", "select count(*), a * 2 from t group by a"),
        ("select * from t", "select `t`.`a`, `t`.`b`, `t`.`s` from t"),
        ("select /* all */ *, 1 as o from u", "select /* all */ `u`.`a`, `u`.`c`, 1 as o from u"),
        ("select x.*from u x", "select `x`.`a`, `x`.`c`from u x"),
        ("select `default` . u.* from u", "select `u`.`a`, `u`.`c` from u"),
        ("select s.*, t.s.* except (x) from t", None),
        ("select s.* from t", "select `s`.`x`, `s`.`y` from t"),
        ("select * except (b, s) from t", "select `t`.`a` from t"),
        ("select t.* except(a),a from t", "select `t`.`b`, `t`.`s`,a from t"),
        ("select * from t join u using (a)", "select `a`, `t`.`b`, `t`.`s`, `u`.`c` from t join u using (a)"),
        ("select u.* from t right join u using (a)", "select `a`, `u`.`c` from t right join u using (a)"),
        ("select t.* from t full join u using (a)", "select `t`.`a`, `t`.`b`, `t`.`s` from t full join u using (a)"),
        ("select u.c, t.* from t left semi join u on t.a = u.a", None),
        ("select * from (select * from u) q", "select `q`.`a`, `q`.`c` from (select `u`.`a`, `u`.`c` from u) q"),
        ("select * from (select a from u)", "select `a` from (select a from u)"),
        (
            "select * from u union all select * from u",
            "select `u`.`a`, `u`.`c` from u union all select `u`.`a`, `u`.`c` from u",
        ),
        (
            "with q as (select * from u) select * from q",
            "with q as (select `u`.`a`, `u`.`c` from u) select `q`.`a`, `q`.`c` from q",
        ),
        (
            "select a from t where a in (select * from (select a from u))",
            "select a from t where a in (select `a` from (select a from u))",
        ),
        ("select a from t where exists (select * from u)", "select a from t where exists (select * from u)"),
        ("from u select *", "from u select `u`.`a`, `u`.`c`"),
        (
            "select * from u lateral view explode(array(1)) e as k",
            "select `u`.`a`, `u`.`c`, `e`.`k` from u lateral view explode(array(1)) e as k",
        ),
        (
            "select z.z, k.* from other.t z join default.u k on z.a = k.a",
            "select z.z, `k`.`a`, `k`.`c` from other.t z join default.u k on z.a = k.a",
        ),
        ("select * from (select a as `b``c d` from u) q", "select `q`.`b``c d` from (select a as `b``c d` from u) q"),
        ("select 'ünï*' as é, * from u", "select 'ünï*' as é, `u`.`a`, `u`.`c` from u"),
        (
            "select transform(*) using 'cat' as (p, q) from u",
            "select transform(`u`.`a`, `u`.`c`) using 'cat' as (p, q) from u",
        ),
    ],
)
def test_each_star_becomes_its_columns(catalog: MemoryCatalog, query: str, text: str | None) -> None:
    if text is None:
        with pytest.raises(BindError):
            view_of(catalog, query)
        return
    view = view_of(catalog, query)
    assert view.text == text
    again = view_of(catalog, text)
    assert (again.text, again.schema) == (text, view.schema)


def test_relations_of_one_name_have_their_database(catalog: MemoryCatalog) -> None:
    view = view_of(catalog, "select * from t join other.t on t.b = 'x'", "(a, b, s, d, z)")
    assert view.text.startswith("select `default`.`t`.`a`, `default`.`t`.`b`, `default`.`t`.`s`, `other`.`t`.`a`, ")


def test_a_pattern_becomes_its_columns(catalog: MemoryCatalog) -> None:
    conf = Conf()
    conf.set("hive.support.quoted.identifiers", "none")
    assert view_of(catalog, "select `(a|s)?+.+` from t", conf=conf).text == "select `t`.`b` from t"


@pytest.mark.parametrize("query", ["select * from (select a, a from u) q", "select * from v1 join v1"])
def test_columns_that_no_text_can_name_keep_the_star(catalog: MemoryCatalog, query: str) -> None:
    assert view_of(catalog, query, "(x, y)").text == query


def test_a_view_over_a_view_has_the_columns_of_that(catalog: MemoryCatalog) -> None:
    catalog.add_view("default", "w", "select * from u")
    catalog.replace_view_text("default", "w", "select * from u")
    assert view_of(catalog, "select * from w").text == "select `w`.`a`, `w`.`c` from w"


def test_alter_view_keeps_columns_too(catalog: MemoryCatalog) -> None:
    catalog.add_view("default", "v", "select a from t")
    command = bind("alter view v as select * from u", catalog, Conf(), "default")
    assert isinstance(command, CreateView)
    assert (command.text, command.written) == ("select `u`.`a`, `u`.`c` from u", "select * from u")


def schema(*names: str, dtype: str = "int") -> Schema:
    return Schema(tuple(Field(name, parse_type(dtype)) for name in names))


def add(catalog: MemoryCatalog, view: Table) -> None:
    catalog._tables[view.database, view.name] = view


def test_a_view_of_spark_finds_its_columns_by_name(catalog: MemoryCatalog) -> None:
    """Spark keeps `*`, and the names of the columns that it meant."""
    noted = (("view.query.out.numCols", "2"), ("view.query.out.col.0", "C"), ("view.query.out.col.1", "a"))
    view = Table("v", "default", "v", TableKind.VIEW, schema("first", "second"), properties=noted)
    catalog.add("default", "w", "new int, a int, c string")
    add(catalog, dataclasses.replace(view, view_text="select * from w"))
    output = plan_of("select * from v", catalog).output
    assert [(column.name, str(column.dtype)) for column in output] == [("first", "string"), ("second", "int")]


def test_the_types_are_those_of_the_query(catalog: MemoryCatalog) -> None:
    add(catalog, Table("v", "default", "v", TableKind.VIEW, schema("a"), view_text="select c as a from u"))
    assert [str(column.dtype) for column in plan_of("select a from v", catalog).output] == ["double"]


def test_nulls_have_the_type_of_the_view(catalog: MemoryCatalog) -> None:
    view = Table(
        "v", "default", "v", TableKind.VIEW, schema("a", dtype="array<string>"), view_text="select array(null) a"
    )
    add(catalog, view)
    assert [str(column.dtype) for column in plan_of("select a from v", catalog).output] == ["array<string>"]


def test_a_view_of_former_times_with_other_columns_is_refused(catalog: MemoryCatalog) -> None:
    add(catalog, Table("v", "default", "v", TableKind.VIEW, schema("a"), view_text="select * from u"))
    with pytest.raises(BindError, match="has 1 columns, its query 2") as caught:
        plan_of("select * from v", catalog)
    assert caught.value.hint == "create the view again"
