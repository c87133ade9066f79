"""Queries, statements about queries, and statements that change rows."""

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
        "EXPLAIN [EXTENDED | ANALYZE [FORMAT JSON | HTML] | FORMATTED | DEPENDENCY | OPTIMIZER | LOGICAL | CBO | AST | …] statement",
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


WRITES = (
    StatementForm(
        "INSERT INTO",
        "INSERT INTO [TABLE] name [PARTITION (column [= value], …) [IF NOT EXISTS]] [(column, …)] query | VALUES (…), …",
        "Add rows to a table. Values of partition columns that PARTITION leaves out come last in the query.",
        "INSERT INTO orders VALUES (1, 'tea', 3.5, '2026-05-01'), (2, 'cup', 8.0, '2026-05-02')",
        (
            (
                "INSERT INTO items VALUES ('tea')",
                "shop.items takes 2 columns here, the query has 1 (line 1, column 13) [SQLSTATE 21S01]",
            ),
        ),
    ),
    StatementForm(
        "INSERT OVERWRITE",
        "INSERT OVERWRITE [TABLE] name [PARTITION (column [= value], …) [IF NOT EXISTS]] [(column, …)] query",
        "Replace the rows of a table, or of the Hive partitions that the query writes.",
        "INSERT OVERWRITE TABLE orders PARTITION (day = '2026-05-02') SELECT 2, 'cup', 7.5",
    ),
    StatementForm(
        "FROM INSERT",
        "[WITH …] FROM source INSERT INTO | OVERWRITE … SELECT … [INSERT INTO | OVERWRITE … SELECT …] …",
        "Read a source once and write several tables. All of them change at the same moment.",
        "FROM items INSERT INTO imported_items SELECT item, price WHERE price < 5\n"
        "INSERT INTO orders PARTITION (day = '2026-05-03') SELECT 3, item, price WHERE price >= 5",
    ),
    StatementForm(
        "INSERT OVERWRITE DIRECTORY",
        """\
INSERT OVERWRITE [LOCAL] DIRECTORY 'path' [ROW FORMAT …] [STORED AS format] query
INSERT OVERWRITE [LOCAL] DIRECTORY 'path' USING format [OPTIONS (…)] query""",
        "Write the rows of a query into a folder.",
        "INSERT OVERWRITE DIRECTORY 'exported/orders' USING csv OPTIONS (header true) SELECT * FROM orders",
        page="csv.md",
    ),
    StatementForm(
        "LOAD DATA",
        """\
LOAD DATA [LOCAL] INPATH 'path' [OVERWRITE] INTO TABLE name [PARTITION (column [= value], …)]
  [INPUTFORMAT 'class' [SERDE 'class']]""",
        "Move files into a table, or copy them with LOCAL.",
        "LOAD DATA LOCAL INPATH 'more_items.parquet' INTO TABLE items",
        (
            (
                "LOAD DATA LOCAL INPATH 'nothing.parquet' INTO TABLE items",
                'file or folder "/data/nothing.parquet" does not exist [SQLSTATE 58P01]',
            ),
        ),
    ),
    StatementForm(
        "UPDATE",
        "UPDATE name [[AS] alias] SET column = value, … [WHERE condition]",
        "Change rows.",
        "UPDATE orders SET price = price * 0.9 WHERE item = 'tea'",
        (
            ("UPDATE orders SET cost = 1", 'no column "cost" in shop.orders (line 1, column 19) [SQLSTATE 42703]'),
            (
                "UPDATE orders SET day = '2026-05-04'",
                'the partition column "day" cannot be updated (line 1, column 19) [SQLSTATE 42000]',
            ),
        ),
    ),
    StatementForm(
        "DELETE FROM",
        "DELETE FROM name [[AS] alias] [WHERE condition]",
        "Delete rows.",
        "DELETE FROM orders WHERE id = 3",
    ),
    StatementForm(
        "MERGE INTO",
        """\
MERGE INTO name [[AS] alias] USING table | (query) [AS] alias ON condition
  [WHEN MATCHED [AND condition] THEN UPDATE SET column = value, … | UPDATE SET * | DELETE] …
  [WHEN NOT MATCHED [BY TARGET] [AND condition] THEN INSERT [(column, …)] VALUES (…) | INSERT *] …
  [WHEN NOT MATCHED BY SOURCE [AND condition] THEN UPDATE SET … | DELETE] …""",
        "Change, delete and add rows by the rows of another table. A row of the table may match one row of the source.",
        "MERGE INTO items USING (SELECT 'pot' AS item, 21.0D AS price) AS new ON items.item = new.item\n"
        "WHEN MATCHED THEN UPDATE SET price = new.price\n"
        "WHEN NOT MATCHED THEN INSERT VALUES (new.item, new.price)",
        (
            (
                "MERGE INTO items USING orders ON items.item = orders.item",
                "syntax error at the end: WHEN MATCHED or WHEN NOT MATCHED expected (line 1, column 58) [SQLSTATE 42601]",
            ),
        ),
    ),
)
