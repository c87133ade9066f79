"""Statements of databases."""

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
        "Drop a database. CASCADE drops its tables too; without it the database must be empty.",
        "DROP DATABASE IF EXISTS old_shop CASCADE",
        (("DROP DATABASE default", 'database "default" cannot be dropped (line 1, column 15) [SQLSTATE 42000]'),),
    ),
)
