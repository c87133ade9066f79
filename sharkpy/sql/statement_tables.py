"""Tables that a statement reads and tables whose rows it writes, by the names in its text.

Nothing is looked up, so the text may be of a statement that ran long ago.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from sharkpy.base.errors import SharkError
from sharkpy.base.records import dataclass
from sharkpy.catalog.names import TableName, is_name
from sharkpy.sql.grammar.parser import parse_query, parse_source, tokenize
from sharkpy.sql.grammar.strict_parser import release_trees
from sharkpy.sql.grammar.token_reader import TokenReader, word_of
from sharkpy.sql.statements.command_binder import QUERY_WORDS, has_source, inserts

_WITHOUT_QUERY = ("SERDEPROPERTIES", "DBPROPERTIES")
"""Words after the WITH of a clause."""


@dataclass(frozen=True, slots=True)
class StatementTables:
    """Names in lower case. The database is "" if the statement does not name it."""

    reads: frozenset[TableName] = frozenset()
    writes: frozenset[TableName] = frozenset()


_NONE = StatementTables()


@lru_cache(2048)
def statement_tables(text: str) -> StatementTables:
    """Return the tables of a query, INSERT, CREATE TABLE … AS or MERGE; none of other or malformed statements."""
    try:
        with release_trees(text):
            return _tables(TokenReader(text, tokenize(text)))
    except SharkError:
        return _NONE


def _tables(reader: TokenReader) -> StatementTables:
    word = reader.word()
    if word == "CREATE":
        return _created(reader)
    if word == "MERGE":
        return _merged(reader)
    if word in ("INSERT", "WITH", "FROM") and (places := inserts(reader.tokens)):
        return _inserted(reader, places)
    if word in QUERY_WORDS:
        return StatementTables(_names(parse_query(reader.text, reader.rest)))
    return _NONE


def _inserted(reader: TokenReader, places: Sequence[int]) -> StatementTables:
    text, tokens = reader.text, reader.tokens
    head, reads, writes = tokens[: places[0]], set[TableName](), set[TableName]()
    if is_shared := has_source(head):
        reads |= _names(parse_source(text, head))
    for start, end in zip(places, [*places[1:], len(tokens)], strict=True):
        part = TokenReader(text, tokens[start:end])
        part.expect("INSERT")
        part.expect_any("INTO", "OVERWRITE")
        if not (part.peek("DIRECTORY") or part.peek("LOCAL", "DIRECTORY")):
            part.match("TABLE")
            writes.add(_name(part))
        reads |= _read_by(text, [*([] if is_shared else head), *_query(part.rest)])
    return StatementTables(frozenset(reads), frozenset(writes))


def _created(reader: TokenReader) -> StatementTables:
    reader.expect("CREATE")
    reader.match("OR", "REPLACE")
    while reader.match_any("EXTERNAL", "MANAGED", "TRANSACTIONAL", "TEMPORARY", "TEMP"):
        pass
    if not reader.match("TABLE"):
        return _NONE
    reader.if_not_exists()
    writes = frozenset([_name(reader)])
    if reader.match("CLONE") or reader.match("SHALLOW", "CLONE"):
        return StatementTables(frozenset([_name(reader)]), writes)
    query = _query(reader.rest)
    return StatementTables(_read_by(reader.text, query), writes) if query else _NONE


def _merged(reader: TokenReader) -> StatementTables:
    reader.expect("MERGE", "INTO")
    writes = frozenset([_name(reader)])
    reader.until("USING")
    reader.expect("USING")
    if not reader.match("("):
        return StatementTables(frozenset([_name(reader)]), writes)
    return StatementTables(_read_by(reader.text, reader.until()), writes)


def _name(reader: TokenReader) -> TableName:
    database, name = reader.qualified_name()
    return database or "", name


def _query(tokens: Sequence[Token]) -> list[Token]:
    """Return the tokens from the first word of a query outside of other parentheses on; none without a query."""
    depth = 0
    for index, token in enumerate(tokens):
        following = word_of(tokens[index + 1]) if index + 1 < len(tokens) else ""
        word = word_of(token)
        if depth == 0 and word == "(" and following in ("SELECT", "WITH", "("):
            return list(tokens[index:])
        if depth == 0 and word in QUERY_WORDS and word != "(" and following not in _WITHOUT_QUERY:
            return list(tokens[index:])
        depth += (token.token_type == TokenType.L_PAREN) - (token.token_type == TokenType.R_PAREN)
    return []


def _read_by(text: str, query: list[Token]) -> frozenset[TableName]:
    return frozenset() if not query or word_of(query[0]) == "VALUES" else _names(parse_query(text, query))


def _names(tree: exp.Expr) -> frozenset[TableName]:
    ctes = {one.alias.lower() for one in tree.find_all(exp.CTE)}
    return frozenset(one for one in _written(tree) if one[0] or one[1] not in ctes)


def _written(tree: exp.Expr) -> Iterator[TableName]:
    for one in tree.find_all(exp.Table):
        if isinstance(one.this, exp.Identifier) and is_name(one.name):
            yield one.db.lower(), one.name.lower()
