"""Every row's example, as DESCRIBE FUNCTION EXTENDED shows it, runs as a query; what SHOW FUNCTIONS lists."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import sharkpy
from sharkpy.udf import registry
from sharkpy.udf.aliases import ALIASES, UNLISTED
from sharkpy.udf.forms import FORMS
from sharkpy.udf.refused import REFUSED
from sharkpy.udf.usages import usage

_ROW = "(SELECT 1 AS x, 2 AS y, 'a' AS s UNION ALL SELECT 3, 4, 'b') t"


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sharkpy.SharkContext]:
    folder: Path = tmp_path_factory.mktemp("examples")
    session = sharkpy.connect(warehouse=str(folder))
    yield session
    session.stop()


def _query(name: str) -> str:
    row = registry.described(name)
    assert row is not None
    if registry.window(name) and not registry.aggregate(name):
        return f"SELECT {row.example} OVER (ORDER BY x) FROM {_ROW}"
    return f"SELECT {row.example} FROM {_ROW}"


_NAMES = [
    name
    for name in registry.names()
    if name not in ALIASES and (row := registry.described(name)) is not None and row.example
]


@pytest.mark.parametrize("name", _NAMES)
def test_example_runs(context: sharkpy.SharkContext, name: str) -> None:
    context.sql(_query(name)).fetchall()


def test_names_that_are_listed() -> None:
    listed = registry.listed()
    assert len(listed) > 280
    assert not listed & UNLISTED
    assert listed >= FORMS.keys() | REFUSED.keys()
    assert not REFUSED.keys() & set(registry.names())
    assert all(registry.described(target) for target in ALIASES.values())


def test_refused_functions_say_why(context: sharkpy.SharkContext) -> None:
    for name, reason in REFUSED.items():
        if name.isidentifier():
            with pytest.raises(sharkpy.SharkError, match=f"{name} is not supported"):
                context.sql(f"SELECT {name}(1)")
        assert reason


def test_synonyms() -> None:
    assert registry.synonyms("substr") == ("mid", "substring")
    assert registry.synonyms("<>") == ("!=",)
    assert registry.synonyms("abs") == ()


@pytest.mark.parametrize(
    ("row", "name", "example", "expected"),
    [
        ("substr", "mid", "", "mid(str, position[, length])"),
        ("eq", "==", "", "a == b"),
        ("rlike", "regexp", "", "str [NOT] REGEXP pattern"),
        ("no_such_row", "no_such_row", "no_such_row(array(1, 2), 'a')", "no_such_row(a, b)"),
        ("no_such_row", "no_such_row", "no_such_row()", "no_such_row()"),
        ("no_such_row", "no_such_row", "", "no_such_row(…)"),
    ],
)
def test_usage(row: str, name: str, example: str, expected: str) -> None:
    assert usage(row, name, example) == expected
