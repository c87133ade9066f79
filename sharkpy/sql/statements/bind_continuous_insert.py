"""CREATE CONTINUOUS INSERT, and the INSERTs of its epochs."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from sharkpy.base.errors import SharkError, UnsupportedError
from sharkpy.plan.commands import Insert, InsertDirectory, MultiInsert, queries_of
from sharkpy.plan.logical import LogicalPlan
from sharkpy.sql.context import KeptTexts
from sharkpy.sql.grammar.parser import tokenize
from sharkpy.sql.grammar.token_reader import TokenReader
from sharkpy.sql.queries.star_texts import with_columns
from sharkpy.sql.statements.bind_inserts import bind_inserts
from sharkpy.sql.statements.command_binder import CommandBinder

Kept = TypeVar("Kept")


@dataclass(frozen=True, slots=True)
class KeptInserts:
    """INSERTs that a statement stores, with their text, in which each `*` is replaced by its current columns."""

    command: Insert | MultiInsert
    text: str


def kept_inserts(
    binder: CommandBinder, database: str, divide: Callable[[Sequence[LogicalPlan]], Kept]
) -> tuple[KeptInserts, Kept]:
    """Bind the rest of the statement as INSERTs of a continuous insert, and `divide` their queries.

    Errors of `divide` are placed at the INSERTs.
    """
    reader = binder.reader
    start = reader.current
    kept = KeptTexts(reader.text, database)
    command = epoch_inserts(CommandBinder(dataclasses.replace(binder.context, kept=kept), reader))
    assert start is not None  # epoch_inserts has bound it
    written = _trimmed(reader.text[start.start :])
    reader.position = len(reader.tokens)
    with binder.place_of(start):
        divided = divide(queries_of(command))
    text = _trimmed(with_columns(reader.text, start.start, kept.texts))
    is_bindable = not kept.texts or _is_bindable(binder, text, database)
    return KeptInserts(command, text if is_bindable else written), divided


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


def _is_bindable(binder: CommandBinder, text: str, database: str) -> bool:
    """Return whether the text binds.

    It does not if two columns of a `*` have the same name, which no text can distinguish.
    """
    context = dataclasses.replace(binder.context, text=text, database=database, kept=None)
    try:
        bind_inserts(context, TokenReader(text, tokenize(text)))
    except SharkError:
        return False
    return True
