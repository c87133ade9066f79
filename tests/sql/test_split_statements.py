from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sharkpy.sql.grammar.parser import split_statements

_STATEMENTS = st.sampled_from(
    ["select 1", "select ';'", 'select "a;b"', "select `;` from t", "select 'it\\'s;'", "set a=b", "select /* ; */ 2"]
)
_BETWEEN = st.sampled_from([";", ";\n", " ;-- x;y\n", "\n;\n\n", ";/* ; */ "])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" ;; ; -- nothing;\n", []),
        ("select 1", [("select 1", 1)]),
        ("select 1;", [("select 1", 1)]),
        ("select ';' ;\n\nselect 2", [("select ';'", 1), ("select 2", 3)]),
        ("select 1 -- one;\n, 2;", [("select 1 -- one;\n, 2", 1)]),
        ("-- first;\nselect 1;\n/* a;\nb */ select 2", [("select 1", 2), ("select 2", 4)]),
        ("add jar a\\;b; select 1", [("add jar a;b", 1), ("select 1", 1)]),
        ("select 'open ; never closed", [("select 'open ; never closed", 1)]),
        ("select a-1;select b/2", [("select a-1", 1), ("select b/2", 1)]),
        ("select '''a;'; select 2", [("select '''a;'", 1), ("select 2", 1)]),
    ],
)
def test_splits_outside_of_quotes_and_comments(text: str, expected: list[tuple[str, int]]) -> None:
    assert split_statements(text) == expected


@given(st.lists(st.tuples(_STATEMENTS, _BETWEEN), max_size=6))
def test_every_statement_comes_back(parts: list[tuple[str, str]]) -> None:
    found = split_statements("".join(statement + between for statement, between in parts))
    assert [statement for statement, _ in found] == [statement for statement, _ in parts]


@given(st.lists(st.tuples(_STATEMENTS, _BETWEEN), max_size=6))
def test_lines_are_where_statements_start(parts: list[tuple[str, str]]) -> None:
    text = "".join(statement + between for statement, between in parts)
    for statement, line in split_statements(text):
        assert statement.splitlines()[0] in text.splitlines()[line - 1]


def test_a_byte_order_mark_begins_no_statement() -> None:
    assert split_statements("\ufeff-- comment\nSELECT 1;\nSELECT 2") == [("SELECT 1", 2), ("SELECT 2", 3)]
    assert split_statements("\ufeffSELECT 1") == [("SELECT 1", 1)]
