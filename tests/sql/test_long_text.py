"""Long texts are read in pieces, to the tokens that they have as a whole, with long lists of literals as one."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

from sharkpy.base.cancellation import Cancellation
from sharkpy.base.errors import CancelledError, ParseError
from sharkpy.sql.expressions.literal_lists import items_of, rows_of
from sharkpy.sql.grammar import long_text
from sharkpy.sql.grammar.dialect import DIALECT
from sharkpy.sql.grammar.long_text import LITERAL_LIST, tokenize_long
from sharkpy.sql.grammar.parser import tokenize
from tests.examples import examples

_WORDS = st.sampled_from(
    [
        *(
            "select",
            "a",
            "group",
            "by",
            "order",
            "in",
            "(",
            ")",
            ",",
            "+",
            "-",
            "*",
            "/",
            "||",
            "<=",
            "->",
            ".",
            "=",
            "e",
        ),
        *("1", "1e5", "1e", "0x1F", "2L", ".5", "'a'", "'it''s'", "'\\''", '"x,y"', "`a b`", "`in (`", "n'x'", "_x"),
        *("-- one, two\n", "/* a, b */", "/* /* c */ , */", "/*+ mapjoin(t), x */", "{# j, k #}", "\n", "  ", "\t"),
        *(
            "[",
            "]",
            ";",
            "!",
            "!=",
            "~",
            "~*",
            "^",
            "%",
            "&",
            "<",
            ">",
            ">>",
            "=>",
            "@",
            ":",
            "::",
            "?",
            "#",
            "$",
            "\\",
            "{",
            "}",
        ),
        *("select /*+ x */", "--\n", "-- (\n", "/**/", "''", "a.", "1.", "1e+", "order   \n by", "n"),
        *("user-defined", "sets", "key", "double precision", "@x", "${v}", "é", "not in (1, 2)", "values (1), (2)"),
    ]
)
_TEXTS = st.lists(st.tuples(_WORDS, st.sampled_from(["", " "])), max_size=30).map(
    lambda parts: "".join(word + space for word, space in parts)
)


def _facts(tokens: list[Token]) -> list[tuple[TokenType, str, int, int]]:
    return [(token.token_type, token.text, token.start, token.end) for token in tokens]


@given(_TEXTS)
@example("1e5+1")
@example("1e5-.5 1e3+1e3-1e3\n+ 1.5e3-2.5 as `1e5+1`, '1e5+1'")
@settings(max_examples=examples(900))
def test_pieces_have_the_tokens_of_the_whole(text: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(long_text, "_PIECE", 1)
        try:
            whole = _facts(DIALECT.tokenize(text))
        except TokenError:
            with pytest.raises(TokenError):
                tokenize_long(text, DIALECT.tokenize)
        else:
            assert _facts(tokenize_long(text, DIALECT.tokenize)) == whole


@pytest.mark.slow
def test_a_long_text_is_cut_into_pieces() -> None:
    pieces: list[str] = []

    def tokens(text: str) -> list[Token]:
        pieces.append(text)
        return DIALECT.tokenize(text)

    for text in (
        f"select {'a, ' * 50_000} 1",
        f"select a{'+a' * 100_000}",
        f"select {'a and ' * 50_000} b",
        f"select {'1 - ' * 50_000} 1",
        "select " + "(" * 200_000,
        f"select 1{'[0]' * 100_000}",
        f"select a{'.a' * 100_000}",
        f"select {'+' * 200_000}1",
        f"select {'+ ' * 200_000}1",
    ):
        pieces.clear()
        tokenize_long(text, tokens)
        assert "".join(pieces) == text
        assert max(map(len, pieces)) < 70_000


@pytest.mark.variants(3)
@pytest.mark.parametrize(
    "sign",
    ["\n", "-- a\n", "/**/", "/", "=", "~~", "- ", "{", "{ ", "''", "'a'b", "a-", "a/", "/**/a ", "\\", "$", "%}"],
)
def test_a_stretch_of_anything_is_cut(sign: str) -> None:
    pieces: list[int] = []

    def tokens(text: str) -> list[Token]:
        pieces.append(len(text))
        return []

    tokenize_long(f"select {sign * (600_000 // len(sign))} 1", tokens)
    assert max(pieces) < 400_000


@pytest.mark.parametrize(
    ("items", "cells"),
    [
        (["0", "-1", "12345678901234567890"], [(TokenType.NUMBER, "0"), (TokenType.NUMBER, "-1")]),
        (["'a'", "'it\\'s'", "'x, y)'"], [(TokenType.STRING, "a"), (TokenType.STRING, "it's")]),
    ],
    ids=["integers", "strings"],
)
def test_a_long_list_is_one_token(items: list[str], cells: list[tuple[TokenType, str]]) -> None:
    text = f"select 1 from t where a in ( {' , '.join(items * 2_000)} ) and b"
    tokens = tokenize(text)
    assert [token.text for token in tokens[:8]] == ["select", "1", "from", "t", "where", "a", "in", "("]
    assert tokens[8].token_type == LITERAL_LIST
    assert [token.text for token in tokens[9:]] == [")", "and", "b"]
    assert items_of(tokens[8].text)[: len(cells)] == cells
    assert len(items_of(tokens[8].text)) == 2_000 * len(items)
    assert [text[token.start : token.end + 1] for token in tokens[9:]] == [")", "and", "b"]


def test_many_rows_are_one_token() -> None:
    rows = "(1, 'a\\nb'), (-1.5e3, \"q\") , (null,true)"
    tokens = tokenize(f"insert into t values {', '.join([rows] * 1_000)};")
    assert [token.text for token in tokens[:-1]] == ["insert", "into", "t", "values"]
    found = list(rows_of(tokens[-1].text))
    assert len(found) == 3_000
    assert found[:3] == [
        [(TokenType.NUMBER, "1"), (TokenType.STRING, "a\nb")],
        [(TokenType.NUMBER, "-1.5e3"), (TokenType.STRING, "q")],
        [(TokenType.NULL, "null"), (TokenType.TRUE, "true")],
    ]


@pytest.mark.parametrize(
    "text",
    [
        "select 1 in (" + "1, " * 20_000 + "a)",
        "select '" + "1 in (" + "1, " * 20_000 + "1)'",
        "-- in (" + "1, " * 20_000 + "1)\nselect 1",
        "select * from values " + "(1), " * 10_000 + "(now())",
        "select 1 in (" + "1.5, " * 20_000 + "1)",
    ],
    ids=["a name", "in quotes", "in a comment", "a call", "decimals"],
)
def test_what_is_no_list_of_literals_stays_as_it_is(text: str) -> None:
    assert all(token.token_type != LITERAL_LIST for token in tokenize(text))


def test_too_many_words_are_refused_before_the_rest_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_text, "MOST_TOKENS", 10_000)
    with pytest.raises(ParseError, match="more than 10,000 words and signs") as caught:
        tokenize("select " + "a, " * 1_000_000 + "'")
    assert caught.value.sqlstate == "54000"


def test_signs_are_counted_before_there_are_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_text, "MOST_TOKENS", 100_000)
    with pytest.raises(ParseError, match="more than 100,000 words and signs"):
        tokenize_long("select " + "(" * 100_001, lambda text: pytest.fail("read"))
    # The literals of a list are one token.
    tokenize_long(f"select 1 in ({'1, ' * 200_000} 1)", DIALECT.tokenize)


def test_reading_ends_with_the_statement() -> None:
    statement = Cancellation()
    statement.cancel()
    with pytest.raises(CancelledError), statement.active():
        tokenize("select " + "a, " * 10_000 + "1")
