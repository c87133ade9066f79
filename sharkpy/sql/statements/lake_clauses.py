"""Syntax of lake tables in CREATE TABLE: the format after STORED BY, and the transforms of PARTITIONED BY."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot.tokenizer_core import TokenType

from sharkpy.catalog.lake_tables import LAKES, PartitionField

if TYPE_CHECKING:
    from sharkpy.sql.grammar.token_reader import TokenReader
    from sharkpy.sql.statements.command_binder import CommandBinder

_WORDS = {"year": "year", "month": "month", "day": "day", "date": "day", "hour": "hour", "bucket": "bucket"}
_TRANSFORMS = _WORDS | {"years": "year", "months": "month", "days": "day", "hours": "hour", "truncate": "truncate"}
"""Transforms by their names in Hive and in Spark."""
_NUMBERED = ("bucket", "truncate")


def lake_word(reader: TokenReader) -> str | None:
    """Take the name of a lake format, or the class of its storage handler, after STORED BY.

    Return None if it does not come next.
    """
    token = reader.current
    if token is not None and token.token_type == TokenType.STRING:
        found = next((name for name, handler in LAKES.items() if handler == token.text), None)
    else:
        found = reader.word().lower() if reader.word().lower() in LAKES else None
    if found is not None:
        reader.take()
    return found


def divides_by_transforms(reader: TokenReader) -> bool:
    """Return whether SPEC follows PARTITIONED BY, or its list has a transform."""
    if reader.peek("SPEC"):
        return True
    following = reader.tokens[reader.position :]
    starts = [i for i, one in enumerate(following[:-2]) if one.token_type in (TokenType.L_PAREN, TokenType.COMMA)]
    for start in starts:
        word, behind = following[start + 1], following[start + 2]
        if word.text.lower() in _TRANSFORMS and behind.token_type == TokenType.L_PAREN:
            return True
        if word.token_type == TokenType.R_PAREN:
            return False
    return False


def partition_fields(binder: CommandBinder) -> list[PartitionField]:
    """Read [SPEC] (column | transform(…), …)."""
    reader = binder.reader
    reader.match("SPEC")
    reader.expect("(")
    found: list[PartitionField] = []
    while True:
        found.append(_partition_field(reader))
        if reader.match(")"):
            return found
        reader.expect(",")


def _partition_field(reader: TokenReader) -> PartitionField:
    word = reader.name("a column or a transform")
    if not reader.match("("):
        return PartitionField("identity", word)
    transform = _TRANSFORMS.get(word)
    if transform is None:
        raise reader.error(f"a transform ({', '.join(sorted(set(_TRANSFORMS.values())))}) expected")
    number = None
    if transform in _NUMBERED:
        number = reader.whole_number("the number of the transform")
        reader.expect(",")
    column = reader.name("a column name")
    reader.expect(")")
    return PartitionField(transform, column, number)
