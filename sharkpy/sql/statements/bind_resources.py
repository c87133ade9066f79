"""ADD, LIST and DELETE of JARs, files and archives."""

from __future__ import annotations

import shlex

from sharkpy.plan.commands import AddResources, DeleteResources, ListResources
from sharkpy.sql.statements.command_binder import CommandBinder

_KINDS = {word: kind for kind in ("JAR", "FILE", "ARCHIVE") for word in (kind, f"{kind}S")}


def bind_add(binder: CommandBinder) -> AddResources:
    binder.reader.expect("ADD")
    kind = _kind(binder)
    paths = _paths(binder)
    if not paths:
        raise binder.reader.error("a path expected")
    return AddResources(kind, paths)


def bind_list(binder: CommandBinder) -> ListResources:
    binder.reader.expect("LIST")
    return ListResources(_kind(binder), _paths(binder))


def bind_delete(binder: CommandBinder) -> DeleteResources:
    """Bind DELETE JAR | FILE | ARCHIVE. DELETE FROM is another statement."""
    binder.reader.expect("DELETE")
    if binder.reader.word() not in _KINDS:
        raise binder.reader.error("FROM and a table, or JAR, FILE or ARCHIVE expected")
    return DeleteResources(_kind(binder), _paths(binder))


def _kind(binder: CommandBinder) -> str:
    return _KINDS[binder.reader.expect_any(*_KINDS)]


def _paths(binder: CommandBinder) -> tuple[str, ...]:
    """Take the rest of the statement as written: paths separated by spaces, with or without quotes."""
    reader = binder.reader
    if reader.current is None:
        return ()
    text = reader.text[reader.current.start : reader.tokens[-1].end + 1]
    try:
        paths = tuple(shlex.split(text))
    except ValueError:
        raise reader.error("a path expected, with its quotes closed") from None
    reader.position = len(reader.tokens)
    return paths
