"""upper, lower and initcap: in SQL as Python has them, whose mappings are Java's, whatever the characters."""

from __future__ import annotations

import sys

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sharkpy.udf.string_kernels import initcap, lower_sql, upper_sql
from tests.examples import examples

_TEXTS = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from("ßﬁŉΣσςİiıǰΐάᾳ .'"), max_size=12)


@pytest.mark.slow
def test_every_character_in_the_middle_of_a_word(connection: duckdb.DuckDBPyConnection) -> None:
    words = [f"a{chr(code)}b" for code in range(1, sys.maxunicode + 1) if not 0xD800 <= code < 0xE000]
    connection.execute("CREATE OR REPLACE TEMP TABLE words AS SELECT unnest(?) AS w", [words]).fetchall()
    query = f"SELECT w, {upper_sql('w')}, {lower_sql('w')} FROM words"
    assert [row for row in connection.execute(query).fetchall() if row[1:] != (row[0].upper(), row[0].lower())] == []


@settings(max_examples=examples(300), deadline=None)
@given(_TEXTS)
def test_texts(connection: duckdb.DuckDBPyConnection, text: str) -> None:
    nested = upper_sql(lower_sql("concat($text, '')"))
    query = f"SELECT {upper_sql('$text::VARCHAR')}, {lower_sql('$text::VARCHAR')}, {nested}"
    found = connection.execute(query, {"text": text}).fetchall()
    assert found == [(text.upper(), text.lower(), text.lower().upper())]


def test_calls_within_calls_grow_no_faster_than_their_number() -> None:
    sql = "s"
    for _ in range(30):
        sql = upper_sql(lower_sql(sql))
    assert len(sql) < 60 * 1000


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("hello wORLD", "Hello World"),
        ("", ""),
        (" a  b ", " A  B "),
        ("ﬁne ßx ŉ", "ﬁne ßx ŉ"),
        ("ΟΔΟΣ ΑΣ", "Οδος Ας"),
        ("ǆ Ǆ", "ǅ ǅ"),
        ("a\u00a0b\u202fc", "A\u00a0b\u202fc"),
        ("a\u2003b\x1fc\x85d", "A\u2003B\x1fC\x85d"),
        ("\U00010428 x", "\U00010428 X"),
    ],
)
def test_initcap_is_of_single_characters_of_the_first_plane(text: str, answer: str) -> None:
    assert initcap(text) == answer


def test_initcap_of_a_long_text_is_that_of_its_words() -> None:
    words = ["ΟΔΟΣ", "hello", "x" * 70_000] * 20
    assert initcap(" ".join(words)) == " ".join(map(initcap, words))
