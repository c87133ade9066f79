"""SHOW and DESCRIBE of tables, columns, settings and statements."""

from __future__ import annotations

from sharkpy.sql.forms.statement_form import StatementForm

LISTINGS = (
    StatementForm(
        "SHOW TABLES",
        "SHOW TABLES [IN | FROM database] [[LIKE] 'pattern']",
        "List tables and views.",
        "SHOW TABLES LIKE '*items'",
        (("SHOW TABLES IN nowhere", "Database not found nowhere (line 1, column 16) [SQLSTATE 3F000]"),),
    ),
    StatementForm("SHOW VIEWS", "SHOW VIEWS [IN | FROM database] [[LIKE] 'pattern']", "List views.", "SHOW VIEWS"),
    StatementForm(
        "SHOW TABLE EXTENDED",
        "SHOW TABLE EXTENDED [IN | FROM database] LIKE 'pattern' [PARTITION (column = value, …)]",
        "Show facts about tables, or about one Hive partition.",
        "SHOW TABLE EXTENDED LIKE 'items'",
    ),
    StatementForm(
        "SHOW COLUMNS",
        "SHOW COLUMNS IN | FROM table [IN | FROM database] [[LIKE] 'pattern']",
        "List the columns of a table.",
        "SHOW COLUMNS IN items",
    ),
    StatementForm(
        "SHOW PARTITIONS",
        "SHOW PARTITIONS table [PARTITION (column = value, …)] [WHERE condition] [ORDER BY …] [LIMIT n]",
        "List the Hive partitions of a table.",
        "SHOW PARTITIONS orders WHERE day > '2026-05-01'",
        (("SHOW PARTITIONS items", "shop.items is not a partitioned table (line 1, column 17) [SQLSTATE 42809]"),),
    ),
    StatementForm(
        "SHOW CREATE TABLE",
        "SHOW CREATE [TABLE | VIEW] name",
        "Show the statement that makes a table or view.",
        "SHOW CREATE TABLE orders",
    ),
    StatementForm(
        "SHOW TBLPROPERTIES",
        "SHOW TBLPROPERTIES table [('key')]",
        "Show the properties of a table.",
        "SHOW TBLPROPERTIES items",
    ),
    StatementForm(
        "SHOW QUERIES",
        "SHOW QUERIES [LIKE 'pattern'] [LIMIT n]",
        "List statements that run or have ended, newest first.",
        "SHOW QUERIES LIMIT 5",
        page="operations.md",
    ),
    StatementForm(
        "SHOW QUERY",
        "SHOW QUERY 'id'",
        "Show one statement with its plan and its error. SHOW QUERIES lists the ids.",
        "",
        (
            (
                "SHOW QUERY 'nothing'",
                'no statement "nothing" is known (line 1, column 12); SHOW QUERIES lists the recorded statements [SQLSTATE 42704]',
            ),
        ),
        "operations.md",
    ),
    StatementForm(
        "KILL QUERY",
        "KILL QUERY 'id' [, 'id' …]",
        "Cancel running statements, also of other sessions. SHOW QUERIES lists the ids.",
        "",
        (
            (
                "KILL QUERY 'nothing'",
                'no statement "nothing" is known (line 1, column 12); SHOW QUERIES lists the recorded statements [SQLSTATE 42704]',
            ),
        ),
        "server.md",
    ),
    StatementForm(
        "SHOW SETTINGS",
        "SHOW SETTINGS [[LIKE] 'pattern']",
        "List settings with the session's value, type, default, allowed values and meaning.",
        "SHOW SETTINGS LIKE 'shark.query.*'",
        page="reference/settings.md",
    ),
    StatementForm(
        "SHOW CONF",
        "SHOW CONF 'setting'",
        "Show the default, type and meaning of one setting.",
        "SHOW CONF 'shark.pruning'",
        (
            (
                "SHOW CONF 'shark.prunning'",
                'no setting "shark.prunning" is known (line 1, column 11); did you mean "shark.pruning"? [SQLSTATE 42000]',
            ),
        ),
    ),
    StatementForm(
        "SHOW LOCKS",
        "SHOW LOCKS | ROLES | CURRENT ROLES | ROLE GRANT … | PRINCIPALS … | GRANT … | TRANSACTIONS | COMPACTIONS\n"
        "  | INDEXES … | INDEX … | FORMATTED INDEXES … | FORMATTED INDEX … | RESOURCE PLANS",
        "Return no rows, in the columns of Hive: sharkpy has no such objects, and clients of Hive ask for them.",
        "SHOW LOCKS",
    ),
    StatementForm(
        "DESCRIBE",
        """\
DESCRIBE | DESC [EXTENDED | FORMATTED] [TABLE] table [PARTITION (column = value, …)] [column[.field …]]
DESCRIBE | DESC 'file' | QUERY query""",
        "Show the columns of a table, file or query. EXTENDED and FORMATTED add facts about a table.",
        "DESCRIBE FORMATTED items price",
        (
            ("DESCRIBE nothing", "Table not found nothing (line 1, column 10) [SQLSTATE 42S02]"),
            ("DESCRIBE items cost", 'no column "cost" in shop.items (line 1, column 16) [SQLSTATE 42703]'),
        ),
    ),
)
