"""Queries, and statements about queries."""

from __future__ import annotations

from sharkpy.sql.forms.statement_form import StatementForm

QUERIES = (
    StatementForm(
        "SELECT",
        """\
[WITH [RECURSIVE] name [(column, …)] AS (query), …]
SELECT [ALL | DISTINCT] * [EXCEPT (column, …)] | expression [[AS] alias], …
  [FROM table | 'file' | function(…) | (query) [[AS] alias] [TABLESAMPLE (…)] [PIVOT (…) | UNPIVOT (…)], …
    [[INNER | LEFT | RIGHT | FULL | CROSS | LEFT SEMI | LEFT ANTI] JOIN … [ON condition | USING (column, …)]] …
    [LATERAL VIEW [OUTER] function(…) alias AS column, …] …]
  [WHERE condition] [GROUP BY expression, … | GROUPING SETS (…) | ROLLUP (…) | CUBE (…) | ALL] [HAVING condition]
  [WINDOW name AS (…), …] [QUALIFY condition]
  [UNION | EXCEPT | INTERSECT [ALL | DISTINCT] query] …
  [ORDER BY … | SORT BY … | DISTRIBUTE BY … | CLUSTER BY …] [LIMIT n] [OFFSET n]""",
        "Return the rows of a query.",
        "SELECT day, count(*) AS orders, round(sum(price), 2) AS total FROM orders GROUP BY day ORDER BY day",
        (
            ("SELECT prise FROM items", 'no column "prise" (line 1, column 8); did you mean "price"? [SQLSTATE 42703]'),
            (
                "SELECT item, sum(price) FROM items",
                'the column "item" is neither grouped nor inside an aggregate (line 1, column 8); add GROUP BY [SQLSTATE 42803]',
            ),
            ("SELECT nothing(1)", 'no function "nothing" (line 1, column 8); did you mean "not"? [SQLSTATE 42883]'),
            ("SELECT * FROM nothing", "Table not found nothing (line 1, column 15) [SQLSTATE 42S02]"),
            (
                "SELECT * FROM items WHRE price > 5",
                'syntax error near "price": the statement should end here, or an operator or a comma is missing before it (line 1, column 26); did you mean "WHERE"? [SQLSTATE 42601]',
            ),
        ),
        "files.md",
    ),
    StatementForm(
        "WITH",
        "WITH [RECURSIVE] name [(column, …)] AS (query), … query | INSERT …",
        "Give names to queries that the statement uses.",
        "WITH dear AS (SELECT * FROM items WHERE price > 5) SELECT count(*) FROM dear",
    ),
    StatementForm(
        "FROM",
        "FROM table … SELECT [DISTINCT] … [WHERE …] [GROUP BY …] …",
        "Return the rows of a query, with FROM first as in Hive.",
        "FROM items SELECT item WHERE price < 5",
    ),
    StatementForm(
        "MAP",
        "FROM table MAP | REDUCE expression, … USING 'command' [AS (column [type], …)]",
        "Send rows through a script: another way to write SELECT TRANSFORM (…) USING.",
        "FROM items MAP item USING 'cat' AS (line STRING)",
        (),
        "functions.md",
    ),
    StatementForm(
        "VALUES",
        "VALUES (value, …), …",
        "Return rows of literal values.",
        "VALUES (1, 'one'), (2, 'two')",
    ),
    StatementForm("TABLE", "TABLE name", "Return all rows of a table.", "TABLE items"),
    StatementForm(
        "SUMMARIZE",
        "SUMMARIZE table | 'file' | query",
        "Show a row of figures for each column: type, least and greatest value, distinct values, mean, quartiles.",
        "SUMMARIZE items",
    ),
    StatementForm(
        "EXPLAIN",
        "EXPLAIN [EXTENDED | ANALYZE | FORMATTED | DEPENDENCY | OPTIMIZER | LOGICAL | CBO | AST | …] statement",
        "Show the plan of a statement. ANALYZE runs it and shows rows, bytes, times and decisions.",
        "EXPLAIN SELECT item FROM items WHERE price > 5",
        (
            (
                "EXPLAIN SET shark.pruning=false",
                'syntax error near "SET": a statement expected (line 1, column 9) [SQLSTATE 42601]',
            ),
        ),
    ),
)
