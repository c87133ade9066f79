"""Statements of the session: its settings, files, tables in memory, functions and models."""

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


FUNCTIONS = (
    StatementForm(
        "CREATE FUNCTION",
        """\
CREATE [OR REPLACE] [TEMPORARY] FUNCTION [IF NOT EXISTS] name (parameter type, …) [RETURNS type | TABLE (column type, …)]
  [LANGUAGE SQL] [[NOT] DETERMINISTIC] [COMMENT 'text'] RETURN expression | query
CREATE [OR REPLACE] [TEMPORARY] FUNCTION [IF NOT EXISTS] name AS 'class' [USING JAR | FILE | ARCHIVE 'path', …]""",
        "Make a function of an expression, of a query, or of a class in Java.",
        "CREATE FUNCTION with_tax(price DOUBLE) RETURNS DOUBLE RETURN price * 1.2",
        (
            (
                "CREATE FUNCTION bad(x INT) RETURN x + y",
                'no column "y" (line 1, column 39); there is x [SQLSTATE 42703]',
            ),
        ),
        "functions.md",
    ),
    StatementForm(
        "CREATE TEMPORARY MACRO",
        "CREATE TEMPORARY MACRO name(parameter type, …) expression",
        "Make a function of an expression, for this session.",
        "CREATE TEMPORARY MACRO cents(price DOUBLE) CAST(price * 100 AS BIGINT)",
    ),
    StatementForm(
        "DROP FUNCTION",
        "DROP [TEMPORARY] FUNCTION [IF EXISTS] name",
        "Drop a function that a user made.",
        "DROP FUNCTION with_tax",
        (
            (
                "DROP FUNCTION upper",
                '"upper" is a built-in function (line 1, column 15); only users\' functions are dropped [SQLSTATE 42000]',
            ),
        ),
    ),
    StatementForm(
        "DROP MACRO", "DROP [TEMPORARY] MACRO [IF EXISTS] name", "Drop a macro.", "DROP TEMPORARY MACRO cents"
    ),
    StatementForm(
        "RELOAD FUNCTIONS",
        "RELOAD FUNCTION | FUNCTIONS",
        "Read again which permanent functions the catalog has.",
        "RELOAD FUNCTIONS",
    ),
    StatementForm(
        "SHOW FUNCTIONS",
        "SHOW FUNCTIONS [LIKE 'pattern' | 'regular expression']",
        "List functions.",
        "SHOW FUNCTIONS LIKE 'date*'",
    ),
    StatementForm(
        "DESCRIBE FUNCTION",
        "DESCRIBE | DESC FUNCTION [EXTENDED] name",
        "Show how a function is called; EXTENDED adds an example with its answer.",
        "DESCRIBE FUNCTION EXTENDED upper",
    ),
    StatementForm(
        "GENERATE",
        "GENERATE function(table | (query) | value | name => value, …) [AS TABLE name]",
        "Run a function of whole tables, such as the fit of a model; AS TABLE keeps its rows.",
        "GENERATE KMeans((SELECT price FROM items), 2) AS TABLE price_groups",
        (
            (
                "GENERATE upper(items)",
                '"upper" is not a function of whole tables, which GENERATE needs (line 1, column 10); call it in SELECT upper(…); a function for GENERATE has a parameter annotated as TableRDD [SQLSTATE 42809]',
            ),
        ),
        "ml.md",
    ),
)
