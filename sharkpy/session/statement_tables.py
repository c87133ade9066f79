"""Tables of `sys` about statements: `sys.queries` has one row for each statement, `sys.operators` for each operator.

Records are read in pages. Arrow reads their JSON, which takes a fraction of the time of Python objects.
"""

from __future__ import annotations

import io
import json
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from sharkpy.base.settings import TIME_ZONE
from sharkpy.base.time_zone import arrow_zone, zone_name
from sharkpy.catalog.system_tables import SYSTEM_DATABASE, SystemTable
from sharkpy.values.types import BIGINT, DOUBLE, INT, STRING, TIMESTAMP, Field, Schema, arrow_schema

if TYPE_CHECKING:
    import pyarrow as pa

    from sharkpy.catalog.statement_records import Keys
    from sharkpy.session.session_base import SessionBase

Made: TypeAlias = "Callable[[SessionBase, Keys], Iterator[pa.Table]]"
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


_NAMES = {"rows_read": "input_rows", "rows_returned": "rows_read"}
"""Fields of records by the columns of `sys.queries` that have other names."""
_EMPTY_IS_NULL = ("tag", "sqlstate", "error")


def statement_tables(session: SessionBase) -> Mapping[str, SystemTable]:
    """Return tables of `sys` by qualified name, with the statements that the session may see.

    They do not keep the session alive, since plans may outlive it.
    """
    known = weakref.ref(session)
    made: dict[str, tuple[Schema, Made]] = {"queries": (_QUERIES, _queries), "operators": (_OPERATORS, _operators)}
    return {
        f"{SYSTEM_DATABASE}.{name}": SystemTable(
            *(SYSTEM_DATABASE, name, schema, partial(_made, known, tables)),
            key="query_id",
            rows_of=partial(_made, known, tables),
        )
        for name, (schema, tables) in made.items()
    }


def _made(known: weakref.ref[SessionBase], tables: Made, query_ids: Keys = None) -> Iterator[pa.Table]:
    session = known()
    if session is not None:
        yield from tables(session, query_ids)


def _queries(session: SessionBase, query_ids: Keys) -> Iterator[pa.Table]:
    import pyarrow as pa
    import pyarrow.compute as pc

    target = arrow_schema(_QUERIES)
    # Records have the start in seconds.
    read = [(_NAMES.get(one.name, one.name), pa.float64() if one.name == "started" else one.type) for one in target]
    zone = pa.timestamp("us", arrow_zone(zone_name(session.conf.value(TIME_ZONE))))
    for bodies in session.statement_history.bodies(session.all_running_statements(), session.seen_user, query_ids):
        found = _parsed(bodies, pa.schema(read))
        columns: dict[str, Any] = dict(zip(target.names, found.columns, strict=True))
        for name in _EMPTY_IS_NULL:
            columns[name] = pc.if_else(pc.equal(columns[name], pa.scalar("")), None, columns[name])
        microseconds = pc.round(pc.multiply(columns["started"], 1e6)).cast(pa.int64())
        columns["started"] = pc.local_timestamp(microseconds.cast(zone))
        yield pa.table(columns, schema=target)


def _operators(session: SessionBase, query_ids: Keys) -> Iterator[pa.Table]:
    """Yield the operators of profiles, each with the one that reads its rows."""
    import pyarrow as pa
    import pyarrow.compute as pc

    target = arrow_schema(_OPERATORS)
    figures = ("stage", "kind", "label", "rows", "bytes", "seconds", "blocks_read", "blocks_pruned")
    operator = [
        ("id", pa.int32()),
        ("children", pa.list_(pa.int32())),
        *((one, target.field(one).type) for one in figures),
    ]
    read = pa.schema([("operators", pa.list_(pa.struct(operator)))])
    for profiles in session.statement_history.profiles(session.all_running_statements(), session.seen_user, query_ids):
        listed: Any = _parsed([profile for _, profile in profiles], read)["operators"].combine_chunks()
        rows, operators = pc.list_parent_indices(listed), listed.flatten()
        ids, children = operators.field("id"), operators.field("children")
        # An operator's key is its statement's number in the page, and its id.
        statements = pc.multiply(rows.cast(pa.int64()), 1 << 32)
        readers = pc.list_parent_indices(children)
        parent = pc.index_in(pc.add(statements, ids), pc.add(statements.take(readers), children.flatten()))
        of_rows = pa.array([query_id for query_id, _ in profiles], pa.string()).take(rows)
        columns = [of_rows, ids, ids.take(readers).take(parent), *(operators.field(one) for one in figures)]
        yield pa.table(columns, schema=target)


def _parsed(lines: Sequence[str], schema: pa.Schema) -> pa.Table:
    """Return the fields of `schema` of JSON objects, each a line. Other fields are ignored."""
    import pyarrow.json as pj

    if not lines:
        return schema.empty_table()
    # Arrow refuses halves of surrogate pairs. A question mark replaces each.
    valid = (json.dumps(json.loads(one), ensure_ascii=False) if "\\ud" in one else one for one in lines)
    data = "\n".join(valid).encode("utf-8", "replace")
    reading = pj.ReadOptions(use_threads=False, block_size=len(data))
    parsing = pj.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
    return pj.read_json(io.BytesIO(data), reading, parsing)
