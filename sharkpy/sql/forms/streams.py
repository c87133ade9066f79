"""Statements of streams and continuous queries."""

from __future__ import annotations

from sharkpy.sql.forms.statement_form import StatementForm

_CLAUSES = """\
  [TRIGGER EVERY n unit | ONCE | AVAILABLE NOW] [ON BAD ROW NULL | SKIP TO table]
  [START FROM EARLIEST | LATEST | TIMESTAMP 'time' | TABLE table THEN STREAM stream [FROM …]]
  [EMIT APPEND | UPDATE | COMPLETE [WITH RECOMPUTE] | CHANGES] [LATE ROWS TO table] [WITH UNBOUNDED STATE]"""

STREAMS = (
    StatementForm(
        "CREATE STREAM",
        """\
CREATE STREAM [IF NOT EXISTS] name [(column type | name [type] AS (expression), … [, WATERMARK FOR column AS …])]
  [PARTITIONED BY (column type, …)] [COMMENT 'text'] [ROW FORMAT …] [STORED AS format] [TBLPROPERTIES (…)]
  FROM FOLDER 'path' | PROGRAM | SOCKET 'host:port' | RATE | KAFKA | TABLE name [WITH HISTORY] [WITH CHANGES]
  [('option' = 'value', …)]""",
        "Declare an input that grows: files of a folder, rows of a program, a topic of Kafka.",
        "CREATE STREAM sales (item STRING, price DOUBLE) STORED AS JSONFILE FROM FOLDER 'sales'",
        (
            (
                "CREATE STREAM sales (item STRING) FROM FOLDER 'sales'",
                'table "sales" already exists (line 1, column 15) [SQLSTATE 42S01]',
            ),
            (
                "CREATE STREAM x (a INT) FROM MAGIC",
                'syntax error near "MAGIC": a source (FOLDER, KAFKA, PROGRAM, RATE, SOCKET, TABLE) expected (line 1, column 30) [SQLSTATE 42601]',
            ),
            (
                "CREATE STREAM x FROM TABLE items WITH CHANGES ('startingVersion' = '1000')",
                "version 999 of shop.items is not available; DESCRIBE HISTORY lists its versions, and shark.table.retention says how long they are available [SQLSTATE 22023]",
            ),
        ),
        "streaming.md",
    ),
    StatementForm(
        "CREATE CONTINUOUS TABLE",
        f"""\
CREATE CONTINUOUS TABLE [IF NOT EXISTS] name [clauses of CREATE TABLE]
{_CLAUSES}
  AS query""",
        "Make a table that is kept up to date with streams.",
        "CREATE CONTINUOUS TABLE revenue WITH UNBOUNDED STATE AS\nSELECT item, sum(price) AS total FROM sales GROUP BY item",
        (
            (
                "CREATE CONTINUOUS TABLE t AS SELECT item FROM items",
                "the continuous query reads no stream (line 1, column 30); CREATE TABLE … AS SELECT, or INSERT [SQLSTATE 42809]",
            ),
            (
                "CREATE CONTINUOUS TABLE t AS SELECT item, count(*) FROM sales GROUP BY item",
                "the state of an aggregate by item grows with the values of these (line 1, column 30); write WITH UNBOUNDED STATE before AS to allow it [SQLSTATE 0A000]",
            ),
        ),
        "streaming.md",
    ),
    StatementForm(
        "CREATE CONTINUOUS INSERT",
        f"""\
CREATE CONTINUOUS INSERT [IF NOT EXISTS] name
{_CLAUSES}
  AS INSERT INTO table query | [WITH …] FROM source INSERT INTO table SELECT … [INSERT INTO table SELECT …] …""",
        "Add rows of streams to ordinary tables.",
        "CREATE CONTINUOUS INSERT cheap_sales AS INSERT INTO imported_items SELECT item, price FROM sales WHERE price < 5",
        page="streaming.md",
    ),
    StatementForm(
        "CREATE CONTINUOUS SINK",
        f"""\
CREATE CONTINUOUS SINK [IF NOT EXISTS] name TO FOLDER 'path' | KAFKA | PROGRAM | CONSOLE [('option' = 'value', …)]
  [ROW FORMAT …] [STORED AS format] [COMMENT 'text']
{_CLAUSES}
  AS query""",
        "Write rows of streams to files of a folder, to a topic of Kafka, to a function of a program, or to a shell.",
        "CREATE CONTINUOUS SINK dear_sales TO FOLDER 'dear' STORED AS PARQUET AS SELECT * FROM sales WHERE price > 100",
        page="streaming.md",
    ),
    StatementForm(
        "ALTER CONTINUOUS",
        "ALTER CONTINUOUS TABLE | INSERT | SINK name [TRIGGER …] [ON BAD ROW …] [AS query | AS INSERT …]",
        "Change the trigger or the query of a continuous query. Later epochs use the new one.",
        "ALTER CONTINUOUS TABLE revenue TRIGGER EVERY 2 SECONDS",
        page="streaming.md",
    ),
    StatementForm(
        "PAUSE CONTINUOUS",
        "PAUSE CONTINUOUS TABLE | INSERT | SINK name",
        "Stop a continuous query until RESUME.",
        "PAUSE CONTINUOUS TABLE revenue",
        (
            (
                "PAUSE CONTINUOUS TABLE items",
                "shop.items is not a continuous table (line 1, column 24) [SQLSTATE 42809]",
            ),
        ),
    ),
    StatementForm(
        "RESUME CONTINUOUS",
        "RESUME CONTINUOUS TABLE | INSERT | SINK name",
        "Go on with a continuous query that was paused, or that an error has stopped.",
        "RESUME CONTINUOUS TABLE revenue",
    ),
    StatementForm(
        "ROLLBACK CONTINUOUS",
        "ROLLBACK CONTINUOUS TABLE | INSERT name TO EPOCH n | TO TIMESTAMP 'time'",
        "Set a continuous table back to an earlier epoch. Later input is read again.",
        "ROLLBACK CONTINUOUS TABLE revenue TO EPOCH 1",
        (
            (
                "ROLLBACK CONTINUOUS TABLE items TO EPOCH 1",
                "shop.items is not a continuous table (line 1, column 27) [SQLSTATE 42809]",
            ),
        ),
        "streaming.md",
    ),
    StatementForm(
        "REFRESH CONTINUOUS",
        "REFRESH CONTINUOUS TABLE name",
        "Compute a continuous table again from the beginning of its streams.",
        "REFRESH CONTINUOUS TABLE revenue",
    ),
    StatementForm(
        "SHOW STREAMS",
        "SHOW STREAMS [IN | FROM database] [[LIKE] 'pattern']",
        "List streams.",
        "SHOW STREAMS",
    ),
    StatementForm(
        "SHOW CONTINUOUS TABLES",
        "SHOW CONTINUOUS TABLES | STREAMING TABLES [IN | FROM database] [[LIKE] 'pattern']",
        "List continuous queries with their state, epochs and errors.",
        "SHOW CONTINUOUS TABLES LIKE 'rev*'",
    ),
    StatementForm(
        "SHOW EPOCHS",
        "SHOW EPOCHS name [LIMIT n]",
        "List the last epochs of a continuous query.",
        "SHOW EPOCHS revenue LIMIT 3",
    ),
    StatementForm(
        "SHOW MATERIALIZED VIEWS",
        "SHOW MATERIALIZED VIEWS [IN | FROM database] [[LIKE] 'pattern']",
        "List continuous tables, in the columns of Hive.",
        "SHOW MATERIALIZED VIEWS",
    ),
    StatementForm(
        "DESCRIBE STREAM",
        "DESCRIBE [EXTENDED | FORMATTED] STREAM | CONTINUOUS TABLE | CONTINUOUS INSERT | CONTINUOUS SINK name",
        "Show the columns of a stream or a continuous query; EXTENDED adds its state.",
        "DESCRIBE EXTENDED STREAM sales",
    ),
    StatementForm(
        "DROP CONTINUOUS",
        "DROP CONTINUOUS TABLE | INSERT | SINK [IF EXISTS] name",
        "Drop a continuous query. A table loses its rows; targets of inserts and sinks stay.",
        "DROP CONTINUOUS SINK dear_sales",
        (
            (
                "DROP TABLE revenue",
                "shop.revenue is a continuous table (line 1, column 12); use DROP CONTINUOUS TABLE [SQLSTATE 42809]",
            ),
        ),
    ),
    StatementForm(
        "DROP STREAM",
        "DROP STREAM [IF EXISTS] name",
        "Drop a stream that no continuous query reads.",
        "DROP STREAM IF EXISTS old_sales",
        (("DROP STREAM items", "shop.items is not a stream (line 1, column 13); use DROP TABLE [SQLSTATE 42809]"),),
    ),
)
