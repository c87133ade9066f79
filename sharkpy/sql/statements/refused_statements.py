"""Known statements of HiveQL that are not supported: their first words, and what to do instead."""

from __future__ import annotations

from sharkpy.base.errors import UnsupportedError
from sharkpy.sql.grammar.token_reader import TokenReader

_NO_AUTHORIZATION = (
    "there are no roles and privileges: the server's logins and allowed folders say what each user may do"
)
_NO_TRANSACTIONS = "each statement is a transaction of its own"
_NO_INDEX = "the blocks of cached tables have statistics and are bucketed: no index is needed"
_NO_COPY = (
    "INSERT OVERWRITE [LOCAL] DIRECTORY writes a query to files, LOAD DATA [LOCAL] INPATH puts files into a table;"
    " in the shell, .once FILE writes an answer to one file"
)
_FEW_FILES = "ALTER TABLE … CONCATENATE rewrites a table as few files"
OLD_FILES = (
    'for a Delta table run deltalake.DeltaTable("<its folder>").vacuum(dry_run=False) in Python,'
    " for an Iceberg table pyiceberg's table.maintenance.expire_snapshots()"
)
_NO_POOLS = "shark.pool and shark.pool.weight share the engine"

_NEW_QUERY = (
    "CREATE CONTINUOUS TABLE IF NOT EXISTS makes it, ALTER CONTINUOUS TABLE name AS query gives it another query"
)
_UP_TO_DATE = (
    "a continuous table updates itself; with TRIGGER ONCE or AVAILABLE NOW, RESUME CONTINUOUS TABLE reads the"
    " new input; REFRESH CONTINUOUS TABLE reads all input again"
)

REFUSED: tuple[tuple[str, str | None], ...] = (
    ("CREATE INDEX", _NO_INDEX),
    ("DROP INDEX", _NO_INDEX),
    ("ALTER INDEX", _NO_INDEX),
    ("CREATE ROLE", _NO_AUTHORIZATION),
    ("DROP ROLE", _NO_AUTHORIZATION),
    ("GRANT", _NO_AUTHORIZATION),
    ("REVOKE", _NO_AUTHORIZATION),
    *((f"CREATE OR {word} STREAMING TABLE", _NEW_QUERY) for word in ("REFRESH", "REPLACE")),
    *((f"CREATE OR {word} MATERIALIZED VIEW", _NEW_QUERY) for word in ("REFRESH", "REPLACE")),
    *((f"ALTER {what}", "ALTER CONTINUOUS TABLE name AS query") for what in ("STREAMING TABLE", "MATERIALIZED VIEW")),
    *((f"REFRESH {what}", _UP_TO_DATE) for what in ("STREAMING TABLE", "MATERIALIZED VIEW")),
    ("CREATE SOURCE", "CREATE STREAM name (column type, …) FROM KAFKA (…), FOLDER '/path' or another source"),
    ("DROP SOURCE", "DROP STREAM name"),
    ("CREATE SINK", "CREATE CONTINUOUS SINK name TO FOLDER '/path' | KAFKA (…) | PROGRAM AS query"),
    ("DROP SINK", "DROP CONTINUOUS SINK name"),
    ("CREATE DYNAMIC TABLE", "CREATE CONTINUOUS TABLE name TRIGGER EVERY n MINUTES AS query"),
    *((f"{verb} {what}", _NO_POOLS) for verb in ("CREATE", "ALTER", "DROP") for what in ("RESOURCE PLAN", "POOL")),
    *((f"{verb} {what}", _NO_POOLS) for verb in ("CREATE", "ALTER", "DROP") for what in ("TRIGGER", "USER MAPPING")),
    ("ENABLE WORKLOAD MANAGEMENT", _NO_POOLS),
    ("DISABLE WORKLOAD MANAGEMENT", _NO_POOLS),
    *(
        (f"{verb} SCHEDULED QUERY", "use a scheduler of the machine, such as cron")
        for verb in ("CREATE", "ALTER", "DROP")
    ),
    *((f"{verb} DATACONNECTOR", None) for verb in ("CREATE", "ALTER", "DROP")),
    ("CREATE REMOTE DATABASE", None),
    ("LOCK", "readers see the table as it was when they started, and writers publish their rows atomically"),
    ("UNLOCK", "there are no locks"),
    ("ABORT TRANSACTIONS", _NO_TRANSACTIONS),
    ("START TRANSACTION", _NO_TRANSACTIONS),
    ("BEGIN", _NO_TRANSACTIONS),
    ("COMMIT", _NO_TRANSACTIONS),
    ("COPY", _NO_COPY),
    ("CALL", "there are no procedures: call functions in queries"),
    ("EXEC", "there are no procedures: call functions in queries"),
    ("OPTIMIZE", _FEW_FILES),
    ("ROLLBACK", _NO_TRANSACTIONS),
    ("DFS", "use it in the shell, on the files of the shell's machine"),
    ("REPL", None),
    ("REFRESH", "each statement lists the files again"),
    ("ABORT", None),
    ("START", None),
)


def refused_statement(reader: TokenReader) -> UnsupportedError | None:
    """Return the error for a known statement that is not supported; None for other words."""
    if reader.peek("REFRESH", "CONTINUOUS") or reader.peek("ROLLBACK", "CONTINUOUS"):
        return None
    for words, hint in REFUSED:
        if reader.peek(*words.split()):
            error = reader.unsupported(f"the statement {words}")
            error.hint = hint
            return error
    return None
