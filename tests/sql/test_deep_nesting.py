from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from sharkpy.base.errors import BindError, ParseError, SharkError
from sharkpy.plan.references import is_deep
from sharkpy.sql.nesting import MOST_LEVELS
from tests.small_stack import with_stack
from tests.sql.memory_catalog import make_catalog, plan_of
from tests.waiting import allowed

_CATALOG = make_catalog()


@pytest.mark.variants(3)
@pytest.mark.parametrize(
    "text",
    [
        "select " + "(" * 500 + "a" + ")" * 500 + " from t",
        "select a from t where " + " and ".join(f"a > {i}" for i in range(2000)),
        "select a from t where " + " or ".join(f"(a = {i} and b = 'x')" for i in range(1000)),
        "select " + " || ".join("b" for _ in range(2000)) + " from t",
        "select " + "case when a = 1 then 2 else " * 150 + "3" + " end" * 150 + " from t",
        "select * from " + "(select * from " * 100 + "t" + ") x" * 100,
        " union all ".join("select a from t" for _ in range(500)),
        "select a from t where a in (" + ",".join(map(str, range(5000))) + ")",
    ],
    ids=["parentheses", "and", "or", "concat", "case", "subqueries", "unions", "in"],
)
def test_deep_and_long_statements_bind(text: str) -> None:
    assert plan_of(text, _CATALOG).explain()


@pytest.mark.parametrize(
    "text",
    [
        "select a from t where " + " and ".join(f"a > {i}" for i in range(2000)),
        "select a from t where 1 = a" + "".join(f" {'+-'[i % 2]} a" for i in range(2000)),
        "select a from t where 1 = " + " * ".join("a" for _ in range(2000)),
        "select a from t where 1 = " + "(" * 400 + "a" + " + 1)" * 400,
        "select a from t where 'x' = " + "concat(" * 300 + "b" + ", 'x')" * 300,
    ],
    ids=["and", "sum", "product", "parentheses", "concat"],
)
def test_a_chain_does_not_make_a_deep_tree(text: str) -> None:
    plan = plan_of(text, _CATALOG)
    assert not is_deep(plan.children[0].expressions[0], 32)


def test_too_deep_is_said_clearly() -> None:
    with pytest.raises(BindError, match="nested more than 400 levels"):
        plan_of("select " + "abs(" * 500 + "a" + ")" * 500 + " from t", _CATALOG)
    for text in (" + ".join("a" for _ in range(5002)), " / ".join("a" for _ in range(2600))):
        with pytest.raises(BindError, match="a chain has more than 5,000 operators, or more than 2,500"):
            plan_of(f"select {text} from t", _CATALOG)
    with pytest.raises(ParseError, match="nested too deeply"):
        plan_of("select " + "(" * 50_000 + "a" + ")" * 50_000 + " from t", _CATALOG)


_NESTED: dict[str, Callable[[int], str]] = {
    "parentheses": lambda n: "select " + "(" * n + "1" + ")" * n,
    "functions": lambda n: "select " + "abs(" * n + "1" + ")" * n,
    "casts": lambda n: "select " + "cast(" * n + "1" + " as int)" * n,
    "CASE": lambda n: "select " + "case when a then " * n + "1" + " end" * n + " from t",
    "queries in FROM": lambda n: "select * from " + "(select * from " * n + "t" + ") x" * n,
    "scalar subqueries": lambda n: "select " + "(select " * n + "1" + ")" * n,
    "EXISTS": lambda n: "select 1 where " + "exists (select 1 where " * n + "true" + ")" * n,
    "IN": lambda n: "select " + "a in (" * n + "1" + ")" * n + " from t",
    "CTEs": lambda n: "with c as (" * n + "select 1 x" + ") select * from c" * n,
    "functions of functions": lambda n: "select " + "transform(array(1), x -> " * n + "1" + ")" * n,
    "BETWEEN": lambda n: "select " + "(" * n + "a" + " between 1 and 2)" * n + " from t",
    "NOT": lambda n: "select " + "not " * n + "true",
    "NOT between =": lambda n: "select " + "not a = " * n + "1 from t",
    "minus": lambda n: "select " + "- " * n + "1",
    "indexes": lambda n: "select a" + "[1]" * n + " from t",
    "casts behind": lambda n: "select a" + "::int" * n + " from t",
    "plus": lambda n: "select " + "a + " * n + "1 from t",
    "types": lambda n: "select cast(null as " + "array<" * n + "int" + ">" * n + ")",
    "intervals": lambda n: "select " + "interval (" * n + "1" + ") day" * n,
}


@pytest.mark.variants(3)
@pytest.mark.parametrize("name", _NESTED)
def test_ten_thousand_levels_are_refused_at_once(name: str) -> None:
    start = time.monotonic()
    with pytest.raises(SharkError, match="nested") as caught:
        plan_of(_NESTED[name](10_000), _CATALOG)
    assert caught.value.sqlstate == "54001"
    assert time.monotonic() - start < allowed(3)


@pytest.mark.variants(3)
@pytest.mark.parametrize("name", _NESTED)
@pytest.mark.parametrize("levels", [60, 390, MOST_LEVELS])
def test_no_depth_needs_more_than_the_stack_of_a_thread(name: str, levels: int) -> None:
    """A thread of 4 MB, half of what a system gives, holds what is bound; what is not is an error."""
    ended: list[object] = []

    def bind() -> None:
        try:
            ended.append(plan_of(_NESTED[name](levels), _CATALOG))
        except SharkError as error:
            ended.append(error)

    with_stack(4 << 20, bind)
    assert len(ended) == 1


_DOUBLING = {
    "names of select items": "select a + 1 x0" + "".join(f", x{i} + x{i} x{i + 1}" for i in range(40)) + " from t",
    "cube": "select count(*) from t group by cube(" + ", ".join(f"a + {i}" for i in range(40)) + ")",
    "with cube": "select count(*) from t group by " + ", ".join(f"a + {i}" for i in range(40)) + " with cube",
    "cubes": "select count(*) from t group by " + ", ".join(f"cube(a + {i}, b)" for i in range(20)),
    "columns": "select * from " + "(select *, * from " * 30 + "t" + ") x" * 30,
}


@pytest.mark.variants(3)
@pytest.mark.parametrize("name", _DOUBLING)
def test_what_doubles_with_each_name_is_refused(name: str) -> None:
    start = time.monotonic()
    with pytest.raises(BindError) as caught:
        plan_of(_DOUBLING[name], _CATALOG)
    assert caught.value.sqlstate in ("54000", "54011")
    assert time.monotonic() - start < allowed(8)


def test_a_fold_binds_its_function_once_a_level() -> None:
    start = time.monotonic()
    text = "select " + "aggregate(array(1), 0, (x, y) -> x + " * 8 + "y" + ")" * 8
    plan_of(text, _CATALOG)
    assert time.monotonic() - start < allowed(0.5)


def test_a_view_keeps_its_limit() -> None:
    """A view's text is as bounded as a statement."""
    catalog = make_catalog()
    catalog.add_view("default", "v", "select 1 x")
    catalog.replace_view_text("default", "v", "select " + "(" * 600 + "1" + ")" * 600)
    with pytest.raises(SharkError, match="nested too deeply"):
        plan_of("select * from v", catalog)


@pytest.mark.slow
def test_views_of_views_that_double_are_refused() -> None:
    catalog = make_catalog()
    catalog.add_view("default", "v0", "select 1 x")
    twice = "select a.x from v{0} a join v{0} b on a.x = b.x"
    for level in range(11):
        catalog.add_view("default", f"v{level + 1}", twice.format(level))
    with pytest.raises(SharkError, match="reads more than 5,000 tables") as refused:
        catalog.add_view("default", "v12", twice.format(11))
    assert refused.value.sqlstate == "54000"


@pytest.mark.variants(2)
@pytest.mark.parametrize(
    ("text", "refusal"),
    [
        ("select 1 where " + "exists (select 1 where " * 150 + "true" + ")" * 150, "more than 100 levels"),
        ("select * from (values " + ", ".join(f"({n})" for n in range(200_001)) + ") t", "more than 200,000 values"),
    ],
    ids=["EXISTS", "VALUES"],
)
def test_what_duckdb_would_plan_for_long_is_refused(text: str, refusal: str) -> None:
    with pytest.raises(SharkError, match=refusal) as refused:
        plan_of(text, _CATALOG)
    assert refused.value.sqlstate in ("54000", "54001")


def test_a_long_multi_insert_is_refused_at_once() -> None:
    inserts = " ".join(f"insert into t select a, b where a = {n}" for n in range(1001))
    with pytest.raises(SharkError, match="more than 1,000 INSERTs") as refused:
        plan_of(f"from t {inserts}", _CATALOG)
    assert refused.value.sqlstate == "54000"
