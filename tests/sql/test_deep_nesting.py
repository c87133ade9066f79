from __future__ import annotations

import pytest

from sharkpy.base.errors import BindError, ParseError
from tests.sql.memory_catalog import make_catalog, plan_of

_CATALOG = make_catalog()


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


def test_a_chain_of_and_does_not_make_a_deep_tree() -> None:
    plan = plan_of("select a from t where " + " and ".join(f"a > {i}" for i in range(2000)), _CATALOG)

    def depth(expr: object) -> int:
        return 1 + max((depth(child) for child in expr.children), default=0)  # type: ignore[attr-defined]

    assert depth(plan.children[0].expressions[0]) < 32


def test_too_deep_is_said_clearly() -> None:
    with pytest.raises(BindError, match="nested more than 400 levels"):
        plan_of("select " + " + ".join("a" for _ in range(2000)) + " from t", _CATALOG)
    with pytest.raises(ParseError, match="nested too deeply"):
        plan_of("select " + "(" * 50_000 + "a" + ")" * 50_000 + " from t", _CATALOG)
