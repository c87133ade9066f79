"""DROP, TRUNCATE and MSCK REPAIR."""

from __future__ import annotations

from sharkpy.catalog.model import PURGE_PROPERTY, TableKind
from sharkpy.plan.commands import Command, DropTable, RepairTable, TruncateTable
from sharkpy.sql.statements.bind_continuous import bind_drop_continuous
from sharkpy.sql.statements.bind_database import bind_drop_database
from sharkpy.sql.statements.bind_partition import ignores_missing, partitioned_table, values_spec
from sharkpy.sql.statements.bind_stream import bind_drop_stream
from sharkpy.sql.statements.bind_user_functions import bind_drop_function
from sharkpy.sql.statements.command_binder import CommandBinder


def bind_drop(binder: CommandBinder) -> Command:
    reader = binder.reader
    reader.expect("DROP")
    if reader.match_any("DATABASE", "SCHEMA"):
        return bind_drop_database(binder)
    temporary = bool(reader.match_any("TEMPORARY", "TEMP"))
    if reader.word() in ("FUNCTION", "MACRO"):
        return bind_drop_function(binder, temporary)
    if reader.peek("STREAM"):
        return bind_drop_stream(binder)
    words = (("CONTINUOUS",), ("STREAMING", "TABLE"), ("MATERIALIZED", "VIEW"))
    if any(reader.peek(*one) for one in words):
        return bind_drop_continuous(binder)
    if reader.word() not in ("TABLE", "VIEW") or temporary:
        raise reader.error("TABLE, VIEW or DATABASE expected")
    is_view = reader.expect_any("TABLE", "VIEW") == "VIEW"
    if_exists = reader.if_exists()
    token = reader.current
    table = binder.dropped_table(is_optional=if_exists or ignores_missing(binder.context.conf))
    is_other = table is not None and table.is_view != is_view and not (table.is_view and table.has_state)
    if table is not None and is_other and table.kind is not TableKind.TEMPORARY_VIEW:
        if if_exists:
            reader.match("PURGE")
            return DropTable(None)
        kind, word = ("view", "VIEW") if table.is_view else ("table", "TABLE")
        message = f"{table.qualified_name} is a {kind}"
        raise binder.error(message, token, hint=f"use DROP {word}", sqlstate="42809")
    if table is not None and (kind := table.streaming_kind):
        hint = "drop the continuous query that it belongs to" if table.is_state else f"use DROP {kind.upper()}"
        raise binder.error(f"{table.qualified_name} is a {kind}", token, hint=hint, sqlstate="42809")
    is_purged = reader.match("PURGE")
    if reader.match("FOR", "METADATA"):
        raise reader.unsupported("DROP … FOR METADATA REPLICATION")
    return DropTable(table, is_purged)


def bind_truncate(binder: CommandBinder) -> TruncateTable:
    reader = binder.reader
    reader.expect("TRUNCATE")
    reader.match("TABLE")
    token = reader.current
    table = binder.written_table("TRUNCATE")
    if table.kind is TableKind.EXTERNAL and not table.owns_data:
        message = f"{table.qualified_name} is external: the engine does not delete its files"
        hint = f"SET TBLPROPERTIES ('{PURGE_PROPERTY}'='true') allows it to delete them"
        raise binder.error(message, token, hint=hint, sqlstate="42809")
    partition = values_spec(binder, table) if reader.peek("PARTITION") else None
    if reader.word() == "COLUMNS":
        raise reader.unsupported("TRUNCATE TABLE … COLUMNS")
    reader.match("FORCE")
    return TruncateTable(table, partition)


def bind_repair(binder: CommandBinder) -> RepairTable:
    """MSCK [REPAIR] TABLE t [ADD | DROP | SYNC PARTITIONS]. Without REPAIR, differences are only reported."""
    reader = binder.reader
    reader.expect("MSCK")
    is_repair = reader.match("REPAIR")
    reader.match("TABLE")
    token = reader.current
    table = partitioned_table(binder, binder.written_table("MSCK REPAIR"), token)
    mode = reader.match_any("ADD", "DROP", "SYNC")
    if mode is not None:
        reader.expect("PARTITIONS")
    return RepairTable(table, adds=mode != "DROP", drops=mode in ("DROP", "SYNC"), is_dry=not is_repair)
