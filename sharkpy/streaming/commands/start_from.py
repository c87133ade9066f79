"""Position at which a continuous query begins to read its streams."""

from __future__ import annotations

from collections.abc import Sequence

from sharkpy.base.errors import UnsupportedError
from sharkpy.catalog.continuous_query import Offsets
from sharkpy.plan.commands import StartFrom
from sharkpy.streaming.scheduler import StreamSession


def start_offsets(start: StartFrom, streams: Sequence[str], session: StreamSession) -> Offsets:
    """Offsets of some streams, by id, from which a query reads; () for the first items of all. What is there is looked
    up now, and holds for the query's life.

    UnsupportedError for a moment where a stream does not tell when its items came.
    """
    if start.is_earliest:
        return ()
    found = []
    for stream in streams:
        table = session.catalog.current_table(stream)
        assert table is not None  # the statement was bound over it
        reader = session.streams.readers.of(table)
        position = reader.look()
        if start.moment_ms is not None:
            since = reader.since(start.moment_ms)
            if since is None:
                kind = "" if table.stream is None else f" FROM {table.stream.kind}"
                message = f"START FROM TIMESTAMP with {table.qualified_name}, a stream{kind},"
                raise UnsupportedError(message, hint="START FROM EARLIEST or LATEST")
            position = since
        found.append((stream, position))
    return tuple(found)
