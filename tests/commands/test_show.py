"""SHOW, DESCRIBE and SET answer in Hive's layout."""

from __future__ import annotations

from typing import Any

from sharkpy.catalog.model import StorageFormat
from sharkpy.plan import commands
from sharkpy.values.type_parser import parse_type
from sharkpy.values.types import Field, Schema


def names(session: Any, command: commands.Command) -> tuple[str, ...]:
    return session.context.run_command(command, session.context.snapshot()).schema.names


def test_show(session: Any) -> None:
    table = session.create("t", properties=(("k", "v"),))
    session.create("u")
    assert names(session, commands.ShowTables("default")) == ("tab_name",)
    assert session.run(commands.ShowTables("default")) == [("t",), ("u",)]
    assert session.run(commands.ShowTables("default", "u*")) == [("u",)]
    assert session.run(commands.ShowDatabases()) == [("default",)]
    assert session.run(commands.ShowColumns(table)) == [("a",), ("s",)]
    assert session.run(commands.ShowTableProperties(table)) == [("k", "v")]
    assert session.run(commands.ShowTableProperties(table, "k")) == [("v", "")]


def test_describe(session: Any) -> None:
    table = session.create("t", comment="about", properties=(("k", "v"),))
    assert names(session, commands.DescribeTable(table)) == ("col_name", "data_type", "comment")
    assert session.run(commands.DescribeTable(table)) == [("a", "int", ""), ("s", "string", "")]
    assert session.run(commands.DescribeTable(table, column=("s",))) == [("s", "string", "")]
    rows = session.run(commands.DescribeTable(table, "formatted"))
    assert rows[0] == ("# col_name", "data_type", "comment")
    facts = {row[0]: row[1] for row in rows}
    assert facts["Database:"] == "default"
    assert facts["Table Type:"] == "MANAGED_TABLE"
    assert facts["Location:"] == table.location
    assert ("", "k", "v") in rows
    assert ("", "field.delim", ",") in rows
    assert "tableName:t" in session.run(commands.DescribeTable(table, "extended"))[-1][1]


def test_show_create_table(session: Any) -> None:
    schema = Schema((Field("a", parse_type("int"), "it's"), Field("m", parse_type("map<string,array<int>>"))))
    storage = StorageFormat("text", (("field.delim", "\t"), ("escape.delim", "\\"), ("collection.delim", "\x02")))
    table = session.create("t", schema=schema, storage=storage, properties=(("k", "v"),))
    text = "\n".join(line for (line,) in session.run(commands.ShowCreateTable(table)))
    assert text == (
        "CREATE TABLE `default`.`t`(\n"
        "  `a` int COMMENT 'it\\'s',\n"
        "  `m` map<string,array<int>>)\n"
        "ROW FORMAT DELIMITED\n"
        "  FIELDS TERMINATED BY '\\t'\n"
        "  ESCAPED BY '\\\\'\n"
        "  COLLECTION ITEMS TERMINATED BY '\\002'\n"
        "STORED AS TEXTFILE\n"
        "LOCATION\n"
        f"  '{table.location}'\n"
        "TBLPROPERTIES (\n"
        "  'k'='v')"
    )


def test_settings(session: Any) -> None:
    session.run(commands.SetConf("hive.some.key", "5"))
    assert session.run(commands.SetConf("hive.some.key")) == [("hive.some.key=5",)]
    assert session.run(commands.SetConf("nothing")) == [("nothing is undefined",)]
    assert ("hive.some.key=5",) in session.run(commands.SetConf())
    session.run(commands.ResetConf())
    assert session.run(commands.SetConf("hive.some.key")) == [("hive.some.key is undefined",)]
