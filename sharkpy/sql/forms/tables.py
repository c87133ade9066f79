"""Statements of databases, tables, Hive partitions and views."""

from __future__ import annotations

from sharkpy.sql.forms.statement_form import StatementForm

DATABASES = (
    StatementForm(
        "CREATE DATABASE",
        """\
CREATE DATABASE | SCHEMA [IF NOT EXISTS] name [COMMENT 'text'] [LOCATION 'path']
  [WITH DBPROPERTIES ('key' = 'value', …)]""",
        "Make a database.",
        "CREATE DATABASE shop COMMENT 'Orders and customers'",
        (("CREATE DATABASE default", 'database "default" already exists (line 1, column 17) [SQLSTATE 42P04]'),),
    ),
    StatementForm(
        "USE",
        "USE [DATABASE] name",
        "Make a database the current one: names without a database are looked up in it.",
        "USE shop",
        (("USE nowhere", "Database not found nowhere (line 1, column 5) [SQLSTATE 3F000]"),),
    ),
    StatementForm(
        "ALTER DATABASE",
        """\
ALTER DATABASE | SCHEMA name SET DBPROPERTIES ('key' = 'value', …)
  | SET OWNER USER | ROLE | GROUP name | SET LOCATION 'path'""",
        "Change the properties, the owner or the folder of a database. Tables that exist stay in their folders.",
        "ALTER DATABASE shop SET DBPROPERTIES ('team' = 'sales')",
    ),
    StatementForm(
        "DESCRIBE DATABASE",
        "DESCRIBE | DESC DATABASE | SCHEMA [EXTENDED] name",
        "Show the comment, folder and owner of a database; EXTENDED adds its properties.",
        "DESCRIBE DATABASE EXTENDED shop",
    ),
    StatementForm(
        "SHOW DATABASES",
        "SHOW DATABASES | SCHEMAS [[LIKE] 'pattern']",
        'List databases. In patterns of all listings, * and % stand for any characters and | for "or".',
        "SHOW DATABASES LIKE 's*'",
    ),
    StatementForm(
        "SHOW CREATE DATABASE",
        "SHOW CREATE DATABASE | SCHEMA name",
        "Show the statement that makes a database.",
        "SHOW CREATE DATABASE shop",
    ),
    StatementForm(
        "DROP DATABASE",
        "DROP DATABASE | SCHEMA [IF EXISTS] name [RESTRICT | CASCADE]",
        "Drop a database. CASCADE drops its tables too; without it the database must be empty. UNDROP restores both.",
        "DROP DATABASE IF EXISTS old_shop CASCADE",
        (("DROP DATABASE default", 'database "default" cannot be dropped (line 1, column 15) [SQLSTATE 42000]'),),
    ),
)


TABLES = (
    StatementForm(
        "CREATE TABLE",
        """\
CREATE [OR REPLACE] [EXTERNAL | TEMPORARY] TABLE [IF NOT EXISTS] name
  [(column type [NOT NULL | DEFAULT value | CHECK (…) | PRIMARY KEY …] [COMMENT 'text'], … [, constraint, …])]
  [COMMENT 'text'] [PARTITIONED BY (column type, …)]
  [CLUSTERED BY (column, …) [SORTED BY (column [ASC | DESC], …)] INTO n BUCKETS]
  [SKEWED BY (column, …) ON (value, …) [STORED AS DIRECTORIES]]
  [ROW FORMAT DELIMITED … | ROW FORMAT SERDE 'class' [WITH SERDEPROPERTIES (…)]]
  [STORED AS format | STORED BY ICEBERG | USING format [OPTIONS (…)]]
  [LOCATION 'path'] [TBLPROPERTIES ('key' = 'value', …)]""",
        "Make a table. An EXTERNAL table keeps its files when it is dropped; a TEMPORARY one ends with the session.",
        "CREATE TABLE orders (id BIGINT, item STRING, price DOUBLE) PARTITIONED BY (day DATE) STORED AS PARQUET",
        (
            ("CREATE TABLE orders (id BIGINT)", 'table "orders" already exists (line 1, column 14) [SQLSTATE 42S01]'),
            (
                "CREATE TABLE t (id BIGNUM)",
                'unknown type "bignum" (line 1, column 20); did you mean "bigint"? [SQLSTATE 42601]',
            ),
        ),
        "storage.md",
    ),
    StatementForm(
        "CREATE TABLE AS",
        "CREATE [OR REPLACE] [EXTERNAL | TEMPORARY] TABLE [IF NOT EXISTS] name [clauses of CREATE TABLE] AS query",
        "Make a table of the rows of a query. Without STORED AS its files are Parquet.",
        "CREATE TABLE items TBLPROPERTIES ('shark.cache' = 'MEMORY')\n"
        "AS SELECT * FROM VALUES ('tea', 3.5D), ('cup', 8.0D) AS v(item, price)",
        (
            (
                "CREATE TABLE t (a INT) AS SELECT 1",
                'syntax error near "SELECT": no query expected after a list of columns (line 1, column 27) [SQLSTATE 42601]',
            ),
        ),
    ),
    StatementForm(
        "CREATE TABLE LIKE",
        """\
CREATE [EXTERNAL | TEMPORARY] TABLE [IF NOT EXISTS] name
  LIKE table | [FILE] format 'path' [LOCATION 'path'] [TBLPROPERTIES (…)]""",
        "Make an empty table with the columns of another table, or of a file.",
        "CREATE TABLE returned_items LIKE items",
    ),
    StatementForm(
        "ALTER TABLE RENAME",
        "ALTER TABLE name RENAME TO name\nALTER TABLE name PARTITION (column = value, …) RENAME TO PARTITION (…)",
        "Rename a table or a Hive partition.",
        "ALTER TABLE returned_items RENAME TO returns",
        (("ALTER TABLE nothing RENAME TO something", "Table not found nothing (line 1, column 13) [SQLSTATE 42S02]"),),
    ),
    StatementForm(
        "ALTER TABLE COLUMNS",
        """\
ALTER TABLE name [PARTITION (…)] ADD COLUMNS (column type [COMMENT 'text'], …) [CASCADE | RESTRICT]
ALTER TABLE name [PARTITION (…)] CHANGE [COLUMN] old new type [COMMENT 'text'] [FIRST | AFTER column] [CASCADE | RESTRICT]
ALTER TABLE name [PARTITION (…)] REPLACE COLUMNS (column type, …) [CASCADE | RESTRICT]
ALTER TABLE name PARTITION COLUMN (column type)""",
        "Add, rename, retype, move or replace columns. CASCADE also changes existing Hive partitions.",
        "ALTER TABLE returns ADD COLUMNS (reason STRING COMMENT 'as the customer gave it')",
        (
            (
                "ALTER TABLE returns CHANGE nothing something INT",
                'no column "nothing" in shop.returns (line 1, column 28) [SQLSTATE 42703]',
            ),
            (
                "ALTER TABLE returns DROP COLUMN item",
                'syntax error near "DROP": a clause of ALTER TABLE expected (line 1, column 21); REPLACE COLUMNS (name type, …) leaves columns out [SQLSTATE 42601]',
            ),
        ),
    ),
    StatementForm(
        "ALTER TABLE SET",
        """\
ALTER TABLE name SET TBLPROPERTIES ('key' = 'value', …) | UNSET TBLPROPERTIES [IF EXISTS] ('key', …)
ALTER TABLE name SET OWNER USER | ROLE | GROUP name
ALTER TABLE name [PARTITION (…)] SET LOCATION 'path' | SET FILEFORMAT format
ALTER TABLE name [PARTITION (…)] SET SERDE 'class' [WITH SERDEPROPERTIES (…)] | SET SERDEPROPERTIES (…)
ALTER TABLE name UNSET SERDEPROPERTIES [IF EXISTS] ('key', …)
ALTER TABLE name CLUSTERED BY (…) … INTO n BUCKETS | INTO n BUCKETS | NOT CLUSTERED | NOT SORTED
ALTER TABLE name SKEWED BY (…) ON (…) | NOT SKEWED | NOT STORED AS DIRECTORIES""",
        "Change the properties, owner, folder, file format, buckets or skew of a table.",
        "ALTER TABLE returns SET TBLPROPERTIES ('shark.cache' = 'MEMORY')",
    ),
    StatementForm(
        "ALTER TABLE CONSTRAINT",
        "ALTER TABLE name ADD [CONSTRAINT name] PRIMARY KEY | UNIQUE (…) | FOREIGN KEY (…) REFERENCES … | CHECK (…) …\n"
        "ALTER TABLE name DROP CONSTRAINT name",
        "Add or drop a constraint. Enabled CHECK constraints refuse rows; keys are declarations.",
        "ALTER TABLE returns ADD CONSTRAINT positive CHECK (price > 0)",
        (
            (
                "ALTER TABLE returns DROP CONSTRAINT nothing",
                'shop.returns has no constraint "nothing" (line 1, column 37) [SQLSTATE 42704]',
            ),
        ),
    ),
    StatementForm(
        "ALTER TABLE PARTITION",
        """\
ALTER TABLE name ADD [IF NOT EXISTS] PARTITION (column = value, …) [LOCATION 'path'] …
ALTER TABLE name DROP [IF EXISTS] PARTITION (column = value, …), … [PURGE]
ALTER TABLE name EXCHANGE PARTITION (column = value, …) WITH TABLE source
ALTER TABLE name RECOVER PARTITIONS
ALTER TABLE name TOUCH [PARTITION (…)]""",
        "Add, drop or move Hive partitions, or add the ones whose folders exist.",
        "ALTER TABLE orders ADD IF NOT EXISTS PARTITION (day = '2026-05-01')",
        (
            (
                "ALTER TABLE items ADD PARTITION (day = '2026-05-01')",
                "shop.items is not a partitioned table (line 1, column 23) [SQLSTATE 42809]",
            ),
        ),
    ),
    StatementForm(
        "ALTER TABLE CONCATENATE",
        "ALTER TABLE name [PARTITION (…)] CONCATENATE | COMPACT 'major'",
        "Write the rows of a table or Hive partition again, as few files.",
        "ALTER TABLE orders CONCATENATE",
    ),
    StatementForm(
        "ALTER TABLE UPDATE STATISTICS",
        "ALTER TABLE name [PARTITION (…)] UPDATE STATISTICS [FOR COLUMN column] SET ('numRows' = 'n', …)",
        "Set the figures that the optimizer uses by hand.",
        "ALTER TABLE orders UPDATE STATISTICS SET ('numRows' = '1000')",
    ),
    StatementForm(
        "MSCK",
        "MSCK [REPAIR] TABLE name [ADD | DROP | SYNC PARTITIONS]",
        "Compare Hive partitions with the folders of a table. REPAIR adds or drops them; without it they are listed.",
        "MSCK REPAIR TABLE orders",
        (("MSCK REPAIR TABLE items", "shop.items is not a partitioned table (line 1, column 19) [SQLSTATE 42809]"),),
    ),
    StatementForm(
        "ANALYZE TABLE",
        "ANALYZE TABLE name [PARTITION (…)] COMPUTE STATISTICS [NOSCAN | FOR [ALL] COLUMNS [column, …]]",
        "Compute the figures of a table, or of its columns, for the optimizer.",
        "ANALYZE TABLE items COMPUTE STATISTICS FOR COLUMNS",
    ),
    StatementForm(
        "TRUNCATE TABLE",
        "TRUNCATE [TABLE] name [PARTITION (column = value, …)]",
        "Delete all rows of a table or of Hive partitions.",
        "TRUNCATE TABLE returns",
        (("TRUNCATE TABLE nothing", "Table not found nothing (line 1, column 16) [SQLSTATE 42S02]"),),
    ),
    StatementForm(
        "DROP TABLE",
        "DROP TABLE [IF EXISTS] name [PURGE]",
        "Drop a table. UNDROP restores a managed table for some days; with PURGE, its files are deleted at once. "
        "A missing table is an error only if hive.exec.drop.ignorenonexistent is false.",
        "DROP TABLE IF EXISTS returns",
        (
            (
                "DROP TABLE items PURGE NOW",
                'syntax error near "NOW": the statement should end here (line 1, column 24) [SQLSTATE 42601]',
            ),
        ),
    ),
    StatementForm(
        "CREATE VIEW",
        """\
CREATE [OR REPLACE] [[GLOBAL] TEMPORARY] VIEW [IF NOT EXISTS] name [(column [COMMENT 'text'], …)]
  [COMMENT 'text'] [PARTITIONED ON (column, …)] [TBLPROPERTIES (…)] AS query""",
        "Make a view: a query with a name.",
        "CREATE VIEW cheap AS SELECT item FROM items WHERE price < 5",
        (
            (
                "CREATE VIEW cheap AS SELECT 1 AS one",
                'table "cheap" already exists (line 1, column 13) [SQLSTATE 42S01]',
            ),
        ),
    ),
    StatementForm(
        "ALTER VIEW",
        "ALTER VIEW name RENAME TO name | AS query | SET OWNER … | SET TBLPROPERTIES (…) | UNSET TBLPROPERTIES (…)\n"
        "ALTER VIEW name ADD | DROP [IF [NOT] EXISTS] PARTITION (…), …",
        "Rename a view, or change its query, owner, properties or declared Hive partitions.",
        "ALTER VIEW cheap AS SELECT item FROM items WHERE price < 4",
    ),
    StatementForm(
        "DROP VIEW",
        "DROP VIEW [IF EXISTS] name",
        "Drop a view.",
        "DROP VIEW cheap",
        (("DROP VIEW items", "shop.items is a table (line 1, column 11); use DROP TABLE [SQLSTATE 42809]"),),
    ),
    StatementForm(
        "EXPORT TABLE",
        "EXPORT TABLE name [PARTITION (column = value, …)] TO 'path'",
        "Copy the rows and the definition of a table into a folder.",
        "EXPORT TABLE items TO 'exported/items'",
        (("EXPORT TABLE items TO 'exported/items'", 'folder "/data/exported/items" is not empty [SQLSTATE 42710]'),),
    ),
    StatementForm(
        "IMPORT",
        "IMPORT [[EXTERNAL] TABLE name [PARTITION (column = value, …)]] FROM 'path' [LOCATION 'path']",
        "Make a table, or add to one, from an exported folder.",
        "IMPORT TABLE imported_items FROM 'exported/items'",
    ),
)


VERSIONS = (
    StatementForm(
        "DESCRIBE HISTORY",
        "DESCRIBE | DESC HISTORY table",
        "List the versions of a managed table: number, time, user, statement, and files and rows added and removed.",
        "DESCRIBE HISTORY items",
        page="versions.md",
    ),
    StatementForm(
        "RESTORE TABLE",
        "RESTORE [TABLE] name TO VERSION AS OF n | TIMESTAMP AS OF 'time'",
        "Give a table the rows, Hive partitions and columns of an earlier version. That is another version.",
        "RESTORE TABLE items TO VERSION AS OF 3",
        (
            (
                "RESTORE TABLE items TO VERSION AS OF 0",
                "version 0 of shop.items is not available; DESCRIBE HISTORY lists its versions, and shark.table.retention says how long they are available [SQLSTATE 22023]",
            ),
        ),
        "versions.md",
    ),
    StatementForm(
        "CREATE TABLE CLONE",
        "CREATE [OR REPLACE] TABLE [IF NOT EXISTS] name\n"
        "  CLONE table [VERSION AS OF n | TIMESTAMP AS OF 'time'] [TBLPROPERTIES (…)]",
        "Make a table with the rows of another one, without copying files.",
        "CREATE TABLE items_before_sale CLONE items",
        page="versions.md",
    ),
    StatementForm(
        "VACUUM",
        "VACUUM [TABLE] name [RETAIN n HOURS] [DRY RUN]",
        "Delete the files that only versions before the retention need, and list them. DRY RUN only lists them.",
        "VACUUM items RETAIN 24 HOURS DRY RUN",
        page="versions.md",
    ),
    StatementForm(
        "UNDROP",
        "UNDROP TABLE name\nUNDROP DATABASE | SCHEMA name",
        "Restore the last dropped table with a name, or a database with the tables that were dropped with it.",
        "UNDROP TABLE returns",
        (
            (
                "UNDROP TABLE items",
                'table "items" already exists (line 1, column 14) [SQLSTATE 42S01]',
            ),
        ),
        "versions.md",
    ),
)
