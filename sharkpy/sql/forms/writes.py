"""Statements that change rows."""

from __future__ import annotations

from sharkpy.sql.forms.statement_form import StatementForm

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
