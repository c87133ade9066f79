"""Statements of the session, its settings and files, and of tables in memory."""

from __future__ import annotations

from sharkpy.sql.forms.statement_form import StatementForm

SESSION = (
    StatementForm(
        "CACHE TABLE",
        "CACHE [LAZY] TABLE table | CACHE TABLE name [AS] query",
        "Load a table into the memory store, or make a temporary table of a query there.",
        "CACHE TABLE orders",
        (("CACHE TABLE nothing", "Table not found nothing (line 1, column 13) [SQLSTATE 42S02]"),),
    ),
    StatementForm(
        "UNCACHE TABLE",
        "UNCACHE TABLE [IF EXISTS] table",
        "Remove a table from the memory store.",
        "UNCACHE TABLE orders",
    ),
    StatementForm("CLEAR CACHE", "CLEAR CACHE", "Remove all tables from the memory store.", "CLEAR CACHE"),
    StatementForm(
        "SET",
        "SET key=value | SET key | SET | SET -v\nSET TIME ZONE 'zone' | LOCAL",
        "Set or show settings of the session. SET lists all of them, SET -v with their meaning.",
        "SET shark.query.timeout=60",
        (
            (
                "SET shark.query.timeout=soon",
                '"soon" is not a value of shark.query.timeout (float) (line 1, column 25); from 0 to 1000000000 [SQLSTATE 22023]',
            ),
            (
                "SET shark.query.timout=60",
                'there is no setting "shark.query.timout" (line 1, column 17); did you mean "shark.query.timeout"? [SQLSTATE 42704]',
            ),
        ),
        "reference/settings.md",
    ),
    StatementForm(
        "RESET", "RESET [key]", "Set one setting, or all of them, to the default.", "RESET shark.query.timeout"
    ),
    StatementForm(
        "ADD JAR",
        "ADD JAR | JARS | FILE | FILES | ARCHIVE | ARCHIVES path …",
        "Add files to the session: JARs for Java functions, files and archives for scripts.",
        "ADD FILE more_items.parquet",
        (
            (
                "ADD FILE nothing.txt",
                'cannot read "nothing.txt": there is no such file (line 1, column 18) [SQLSTATE 58030]',
            ),
        ),
        "functions.md",
    ),
    StatementForm(
        "LIST JARS",
        "LIST JAR | JARS | FILE | FILES | ARCHIVE | ARCHIVES [path …]",
        "List the files that were added to the session.",
        "LIST FILES",
    ),
    StatementForm(
        "DELETE JAR",
        "DELETE JAR | JARS | FILE | FILES | ARCHIVE | ARCHIVES [path …]",
        "Remove added files from the session.",
        "DELETE FILES",
    ),
)
