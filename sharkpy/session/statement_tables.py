"""Tables of `sys` about statements: `sys.queries` has one row for each statement, `sys.operators` for each operator."""

from __future__ import annotations

import json
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from sharkpy.base.cancellation import checked
from sharkpy.catalog.system_tables import SYSTEM_DATABASE, SystemTable
from sharkpy.execution.commands.command_result import table_of, time_text
from sharkpy.values.types import BIGINT, DOUBLE, INT, STRING, TIMESTAMP, Field, Schema

if TYPE_CHECKING:
    import pyarrow as pa

    from sharkpy.base.settings import Conf
    from sharkpy.catalog.statement_records import StatementRecord
    from sharkpy.execution.engine_session import EngineSession

Row: TypeAlias = tuple[str | float | None, ...]
_QUERIES = Schema(
    (
        *(Field(name, STRING) for name in ("query_id", "state", "kind", "text", "user", "session", "tag")),
        Field("started", TIMESTAMP),
        *(Field(name, DOUBLE) for name in ("seconds", "queued_seconds", "planning_seconds", "running_seconds")),
        *(Field(name, BIGINT) for name in ("rows_read", "rows_returned", "rows_written")),
        *(Field(name, BIGINT) for name in ("bytes_read", "bytes_spilled")),
        Field("cpu_seconds", DOUBLE),
        *(Field(name, BIGINT) for name in ("peak_bytes", "blocks_read", "blocks_pruned")),
        *(Field(name, STRING) for name in ("sqlstate", "error")),
    )
)
_OPERATORS = Schema(
    (
        Field("query_id", STRING),
        *(Field(name, INT) for name in ("operator_id", "parent_id", "stage")),
        *(Field(name, STRING) for name in ("kind", "label")),
        *(Field(name, BIGINT) for name in ("rows", "bytes")),
        Field("seconds", DOUBLE),
        *(Field(name, BIGINT) for name in ("blocks_read", "blocks_pruned")),
    )
)


def statement_tables(session: EngineSession) -> Mapping[str, SystemTable]:
    """Return tables of `sys` by qualified name, with the statements that the session may see.

    They do not keep the session alive, since plans may outlive it.
    """
    known = weakref.ref(session)
    made: dict[str, tuple[Schema, Callable[[StatementRecord, Conf], Iterable[Row]]]] = {
        "queries": (_QUERIES, _query),
        "operators": (_OPERATORS, _operators),
    }
    return {
        f"{SYSTEM_DATABASE}.{name}": SystemTable(SYSTEM_DATABASE, name, schema, partial(_made, known, schema, rows))
        for name, (schema, rows) in made.items()
    }


def _made(
    known: weakref.ref[EngineSession], schema: Schema, rows_of: Callable[[StatementRecord, Conf], Iterable[Row]]
) -> pa.Table:
    session = known()
    records = [] if session is None else session.history(None)
    return table_of(schema, (row for one in checked(records) if session for row in rows_of(one, session.conf)))


def _query(record: StatementRecord, conf: Conf) -> Iterator[Row]:
    yield (
        *(record.query_id, record.state.value, record.kind, record.text, record.user, record.session),
        *(record.tag or None, time_text(record.started, conf)),
        *(record.seconds, record.queued_seconds, record.planning_seconds, record.running_seconds),
        *(record.input_rows, record.rows_read, record.rows_written, record.bytes_read, record.bytes_spilled),
        *(record.cpu_seconds, record.peak_bytes, record.blocks_read, record.blocks_pruned),
        *(record.sqlstate or None, record.error or None),
    )


def _operators(record: StatementRecord, conf: Conf) -> Iterator[Row]:
    """Yield the operators of a statement's profile, each after the one that reads its rows."""
    del conf
    operators = json.loads(record.profile)["operators"] if record.profile else ()
    parents = {child: one["id"] for one in operators for child in one["children"]}
    for one in operators:
        figures = (one[name] for name in ("rows", "bytes", "seconds", "blocks_read", "blocks_pruned"))
        yield record.query_id, one["id"], parents.get(one["id"]), one["stage"], one["kind"], one["label"], *figures
