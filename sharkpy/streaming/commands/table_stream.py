"""CREATE STREAM … FROM TABLE: rows appended to a table, from now on or from its first row."""

from __future__ import annotations

from sharkpy.catalog.catalog import Catalog
from sharkpy.catalog.model import Table
from sharkpy.catalog.stream_kinds import HISTORY
from sharkpy.execution.commands.writes.table_feed import TableFeed
from sharkpy.execution.tables.data_files import table_files
from sharkpy.streaming.targets import become_targets, check_target


def feed_stream(stream: Table, table: Table, catalog: Catalog) -> None:
    """Feed a stream with the rows that writes append to a table, in the transaction that creates the stream.

    With the option `history` the current rows of the table come first. Raise UnsupportedError for a table whose rows
    are not committed by transactions of the catalog.
    """
    check_target(table, "the table of a stream")
    become_targets([table], catalog)
    catalog.streams.add_feed(stream.table_id, table.table_id)
    if stream.stream is not None and dict(stream.stream.options).get(HISTORY) == "true":
        feed = TableFeed(table, catalog)
        try:
            feed.add(stream, table_files(table, catalog))
        except BaseException:
            feed.take_back()
            raise
