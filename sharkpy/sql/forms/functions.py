"""Statements of functions, and of models."""

from __future__ import annotations

from sharkpy.sql.forms.statement_form import StatementForm

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
