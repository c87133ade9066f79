"""Grammar of scripts in queries: SELECT TRANSFORM (…) USING 'script' …, and its synonyms MAP and REDUCE.

The clauses after the values are the formats of the script's rows, the script, and its output columns.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from sharkpy.base.records import dataclass
from sharkpy.catalog.model import StorageFormat
from sharkpy.sql.grammar.strict_parser import StrictParser
from sharkpy.sql.grammar.token_reader import TokenReader
from sharkpy.sql.statements.bind_storage import row_format
from sharkpy.values.types import DataType

SCRIPT_WORDS = ("USING", "ROW", "RECORDWRITER")
"""Words that may follow the values of a script, and never the parentheses of the function transform."""
_KEYWORDS = ("MAP", "REDUCE")
_DEPTHS = {TokenType.L_PAREN: 1, TokenType.L_BRACKET: 1, TokenType.R_PAREN: -1, TokenType.R_BRACKET: -1}
_OTHER_CLAUSES = ("FROM", "WHERE", "SELECT", "INSERT")


class Script(exp.Expression):
    """Script, the only item of its select list. `expressions` are its input, `clause` is its ScriptClause."""

    arg_types: ClassVar[dict[str, bool]] = {"expressions": True, "clause": True}


class ScriptParser(StrictParser):
    def _parse_projections(self) -> Any:
        if self._prev.token_type == TokenType.SELECT and self._prev.text.upper() in _KEYWORDS:
            return [self._parse_script(self._parse_expressions)], None
        if _word(self._tokens, self._index) == "TRANSFORM" and _is_script(self._tokens, self._index + 1):
            self._advance()
            return [self._parse_script(lambda: self.in_parentheses(self._parse_expressions))], None
        return super()._parse_projections()

    def _parse_script(self, parse_values: Callable[[], list[Any]]) -> Any:
        start = self._prev
        values = parse_values()
        if not values:
            self.missing("an expression")
        reader = TokenReader(self.sql, self._tokens[self._index :])
        clause = script_clause(reader)
        self._advance(reader.position)
        return self.expression(Script(expressions=values, clause=clause)).update_positions(start)


def with_script_words(tokens: list[Token]) -> list[Token]:
    """Replace each MAP and REDUCE that begins a query by SELECT. Both are reserved words in Hive."""
    if not any(token.text.upper() in _KEYWORDS for token in tokens):
        return tokens
    changed, until = list(tokens), 0
    for index, token in enumerate(tokens):
        if index < until or _word(tokens, index) not in _KEYWORDS:
            continue
        if (end := _values_end(tokens, index + 1)) is not None:
            changed[index] = Token(
                TokenType.SELECT, token.text, token.line, token.col, token.start, token.end, token.comments
            )
            until = end
    return changed


def _values_end(tokens: Sequence[Token], start: int) -> int | None:
    """Find the end of a list of values: USING 'script', or a word that may precede it. Return None without one."""
    depth = 0
    for place in range(start, len(tokens)):
        depth += _DEPTHS.get(tokens[place].token_type, 0)
        word = _word(tokens, place)
        if depth < 0 or (depth == 0 and word in _OTHER_CLAUSES):
            return None
        if depth == 0 and place > start and word in SCRIPT_WORDS:
            return place
    return None


def _is_script(tokens: Sequence[Token], place: int) -> bool:
    """Return whether a word of scripts follows the parentheses that open at `place`."""
    if place >= len(tokens) or tokens[place].token_type != TokenType.L_PAREN:
        return False
    depth = 0
    for index in range(place, len(tokens)):
        depth += _DEPTHS.get(tokens[index].token_type, 0)
        if depth == 0:
            return _word(tokens, index + 1) in SCRIPT_WORDS
    return False


def _word(tokens: Sequence[Token], place: int) -> str:
    """Text of a token in upper case; empty at the end, and for strings and quoted names."""
    if place >= len(tokens) or tokens[place].token_type in (TokenType.STRING, TokenType.IDENTIFIER):
        return ""
    return str(tokens[place].text.upper())


_TYPE_WORDS = frozenset(
    (
        *("BOOLEAN", "TINYINT", "SMALLINT", "INT", "INTEGER", "BIGINT"),
        *("FLOAT", "REAL", "DOUBLE", "DECIMAL", "DEC", "NUMERIC"),
        *("STRING", "VARCHAR", "CHAR", "BINARY", "DATE", "TIMESTAMP"),
        *("ARRAY", "MAP", "STRUCT", "UNIONTYPE"),
    )
)
"""Words that begin a type."""
_ESCAPED = re.compile(r"\\(['\";])")


@dataclass(frozen=True, slots=True)
class ScriptClause:
    """[ROW FORMAT …] [RECORDWRITER …] USING 'command' [AS columns] [ROW FORMAT …] [RECORDREADER …].

    `command` keeps its escapes, which the script interprets. If `columns` is None, they are key and value. If a type is
    None, it is STRING.
    """

    command: str
    command_token: Token
    written: StorageFormat | None = None
    writer: str | None = None
    columns: tuple[tuple[str, DataType | None], ...] | None = None
    read: StorageFormat | None = None
    reader: str | None = None


def script_clause(reader: TokenReader) -> ScriptClause:
    written = row_format(reader) if reader.match("ROW", "FORMAT") else None
    writer = reader.optional_string("RECORDWRITER")
    reader.expect("USING")
    token = reader.current
    reader.string("a script")
    if token is None:
        raise reader.error("a script in quotes expected")
    columns = _columns(reader) if reader.match("AS") else None
    read = row_format(reader) if reader.match("ROW", "FORMAT") else None
    command = _ESCAPED.sub(r"\1", reader.text[token.start + 1 : token.end])
    return ScriptClause(command, token, written, writer, columns, read, reader.optional_string("RECORDREADER"))


def _columns(reader: TokenReader) -> tuple[tuple[str, DataType | None], ...]:
    """Read the columns: all of them have types, or none has."""
    is_wrapped = reader.match("(")
    columns = [_column(reader)]
    while reader.match(","):
        start = reader.position
        columns.append(_column(reader))
        if (columns[0][1] is None) != (columns[-1][1] is None):
            reader.position = start
            raise reader.error("a type for each column expected, or for none")
    if is_wrapped:
        reader.expect(")")
    return tuple(columns)


def _column(reader: TokenReader) -> tuple[str, DataType | None]:
    name = reader.name("a column name")
    dtype = reader.data_type() if reader.word() in _TYPE_WORDS else None
    if dtype is not None:
        reader.optional_string("COMMENT")
    return name, dtype
