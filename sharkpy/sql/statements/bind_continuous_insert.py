"""CREATE CONTINUOUS INSERT, and the INSERTs of its epochs."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from sharkpy.base.errors import SharkError, UnsupportedError
from sharkpy.plan.commands import (
    CreateContinuousInsert,
    Insert,
    InsertDirectory,
    MultiInsert,
    queries_of,
)
from sharkpy.sql.grammar.parser import tokenize
from sharkpy.sql.grammar.token_reader import TokenReader
from sharkpy.sql.incremental.check import check_row_wise
from sharkpy.sql.queries.star_texts import with_columns
from sharkpy.sql.statements.bind_inserts import bind_inserts
from sharkpy.sql.statements.command_binder import CommandBinder
from sharkpy.sql.statements.stream_clauses import StreamClauses


@dataclass(frozen=True, slots=True)
class KeptInserts:
    """INSERTs that a statement keeps, and their text, with the columns of now in the place of each `*`."""

    command: Insert | MultiInsert
    text: str


def create_continuous_insert(
    binder: CommandBinder,
    place: tuple[str, str],
    if_not_exists: bool,
    clauses: StreamClauses,
) -> CreateContinuousInsert:
    """Bind the INSERTs of a new continuous insert, the rest of its statement."""
    kept = kept_inserts(binder)
    return CreateContinuousInsert(
        *place, if_not_exists, kept.command, kept.text, clauses.trigger, clauses.on_bad_row, clauses.start
    )


def kept_inserts(binder: CommandBinder) -> KeptInserts:
    """Bind the rest of the statement as INSERTs that go on for ever, epoch by epoch."""
    reader = binder.reader
    start = reader.current
    texts: dict[tuple[int, int], str] = {}
    command = epoch_inserts(CommandBinder(dataclasses.replace(binder.context, star_texts=texts), reader))
    assert start is not None  # epoch_inserts has bound it
    written = _trimmed(reader.text[start.start :])
    reader.position = len(reader.tokens)
    with binder.place_of(start):
        for query in queries_of(command):
            check_row_wise(query)
    text = _trimmed(with_columns(reader.text, start.start, texts))
    return KeptInserts(command, text if not texts or _is_bindable(binder, text) else written)


def epoch_inserts(binder: CommandBinder) -> Insert | MultiInsert:
    """Bind the rest of the statement, or the whole text of a continuous insert, as the INSERTs of an epoch."""
    start = binder.reader.current
    command = bind_inserts(binder.context, binder.reader)
    if command is None:
        raise binder.reader.error("INSERT, WITH or FROM … INSERT expected")
    for one in command.inserts if isinstance(command, MultiInsert) else (command,):
        if isinstance(one, InsertDirectory):
            message = "INSERT OVERWRITE DIRECTORY in a continuous insert is not supported"
            raise binder.error(message, start, UnsupportedError)
        if one.overwrite:
            message = "INSERT OVERWRITE in a continuous insert is not supported"
            raise binder.error(message, start, UnsupportedError, "INSERT INTO adds the rows of each epoch")
    assert not isinstance(command, InsertDirectory)  # refused above
    return command


def _trimmed(text: str) -> str:
    return text.rstrip().rstrip(";").rstrip()


def _is_bindable(binder: CommandBinder, text: str) -> bool:
    """False if no text can name the columns of a `*`: two of them have one name."""
    context = dataclasses.replace(binder.context, text=text, star_texts=None)
    try:
        bind_inserts(context, TokenReader(text, tokenize(text)))
    except SharkError:
        return False
    return True
