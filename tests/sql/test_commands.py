from __future__ import annotations

import pytest

from sharkpy.base.errors import TableNotFoundError
from sharkpy.base.settings import Conf
from sharkpy.catalog.model import StorageFormat, TableKind
from sharkpy.plan.commands import (
    AlterTable,
    CacheTable,
    ClearCache,
    CreateDatabase,
    CreateTable,
    CreateView,
    DescribeDatabase,
    DescribeFunction,
    DescribeTable,
    DropDatabase,
    DropTable,
    Explain,
    Insert,
    LoadData,
    RenameTable,
    ResetConf,
    SetConf,
    SetTableProperties,
    ShowColumns,
    ShowCreateTable,
    ShowDatabases,
    ShowFunctions,
    ShowSettings,
    ShowTableExtended,
    ShowTableProperties,
    ShowTables,
    Statement,
    TruncateTable,
    UncacheTable,
    UseDatabase,
)
from sharkpy.plan.logical import LogicalPlan
from sharkpy.sql.binder import bind
from tests.sql.memory_catalog import make_catalog

_CATALOG = make_catalog()
_T = _CATALOG.table("default", "t")
_LINEITEM = _CATALOG.table("tpch", "lineitem")


def _bind(text: str, conf: Conf | None = None) -> Statement:
    return bind(text, _CATALOG, conf or Conf(), "default")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("show databases", ShowDatabases()),
        ("SHOW SCHEMAS LIKE 'd*'", ShowDatabases("d*")),
        ("show tables", ShowTables("default")),
        ("show tables in tpch 'l*|o*'", ShowTables("tpch", "l*|o*")),
        ("show tables from tpch like 'l*'", ShowTables("tpch", "l*")),
        ("show views in other", ShowTables("other", None, views_only=True)),
        ("show table extended in tpch like 'l*'", ShowTableExtended("tpch", "l*")),
        ("SHOW TABLE EXTENDED LIKE t", ShowTableExtended("default", "t")),
        ("reset My.Key", ResetConf("My.Key")),
        ("show columns in t", ShowColumns(_T)),
        ("show columns from lineitem from tpch", ShowColumns(_LINEITEM)),
        ("show functions like 'sub*'", ShowFunctions("sub*")),
        ("show create table tpch.lineitem", ShowCreateTable(_LINEITEM)),
        ("show tblproperties t", ShowTableProperties(_T)),
        ("show tblproperties t ('a.b')", ShowTableProperties(_T, "a.b")),
        ("describe t", DescribeTable(_T)),
        ("desc formatted tpch.`lineitem`", DescribeTable(_LINEITEM, "formatted")),
        ("describe extended t e", DescribeTable(_T, "extended", ("e",))),
        ("describe database extended tpch", DescribeDatabase("tpch", True)),
        ("desc function extended upper", DescribeFunction("upper", True)),
        ("use tpch", UseDatabase("tpch")),
        ("set", SetConf()),
        ("set -v", SetConf(verbose=True)),
        ("-- a comment\n/* another */ SET shark.x = 'a;b' it's\n", SetConf("shark.x", "'a;b' it's")),
        ("set shark.pruning", SetConf("shark.pruning")),
        ("show settings", ShowSettings()),
        ("SHOW SETTINGS LIKE 'shark.*'", ShowSettings("shark.*")),
        ("reset", ResetConf()),
        ("reset shark.pruning", ResetConf("shark.pruning")),
        ("load data local inpath '/x/y' overwrite into table t", LoadData(_T, "/x/y", True, True)),
        ("load data inpath '/x' into table tpch.lineitem;", LoadData(_LINEITEM, "/x", False, False)),
        ("truncate table t", TruncateTable(_T)),
        ("cache table t", CacheTable(_T)),
        ("cache lazy table tpch.lineitem", CacheTable(_LINEITEM, lazy=True)),
        ("uncache table t", UncacheTable(_T)),
        ("uncache table if exists nope", UncacheTable(None)),
        ("clear cache", ClearCache()),
        ("create database if not exists q comment 'c' location '/q'", CreateDatabase("q", True, "c", "/q")),
        ("create schema q", CreateDatabase("q", False)),
        ("drop database if exists q cascade", DropDatabase("q", True, True)),
        ("drop schema q restrict", DropDatabase("q", False, False)),
        ("drop table if exists nope", DropTable(None)),
        ("drop table nope", DropTable(None)),
        ("drop table t purge", DropTable(_T, is_purged=True)),
        ("alter table t rename to other.zz", RenameTable(_T, "other", "zz")),
        ("alter table t set tblproperties ('a'='b', c.d = 2)", SetTableProperties(_T, (("a", "b"), ("c.d", "2")))),
        ("alter table t unset tblproperties if exists ('a', 'b')", SetTableProperties(_T, (), ("a", "b"))),
    ],
)
def test_commands(text: str, expected: Statement) -> None:
    assert _bind(text) == expected


@pytest.mark.parametrize(
    ("clause", "columns"),
    [
        ("add columns (z int comment 'q', y array<string>)", "a b c d e z:int y:array<string>"),
        ("add columns z int", "a b c d e z:int"),
        ("change a aa bigint", "aa:bigint b c d e"),
        ("change column a a int first", "a b c d e"),
        ("change e e decimal(12,2) after a cascade", "a e:decimal(12,2) b c d"),
        ("change b b string comment 'x' first", "b a c d e"),
        ("replace columns (a bigint, q string)", "a:bigint q:string"),
    ],
)
def test_columns_after_alter_table(clause: str, columns: str) -> None:
    command = _bind(f"alter table t {clause}")
    assert isinstance(command, AlterTable)
    before = {field.name: str(field.dtype) for field in _T.schema}
    wanted = [(name, dtype or before[name]) for name, _, dtype in (one.partition(":") for one in columns.split())]
    assert [(field.name, str(field.dtype)) for field in command.altered.schema] == wanted
    assert command.is_cascading == ("cascade" in clause)


def test_drop_of_a_missing_table_is_an_error_where_hive_is_told_so() -> None:
    with pytest.raises(TableNotFoundError):
        _bind("drop table nope", Conf({"hive.exec.drop.ignorenonexistent": "false"}))


def test_create_table_with_every_clause() -> None:
    text = r"""create external table if not exists other.z (
        a int comment 'x', B map<string,array<int>>, c decimal(10,2), d double precision, `e f` varchar(10),
        g struct<x:int,y:array<map<string,decimal(5,1)>>>)
      comment 'hi'
      row format delimited fields terminated by '\t' escaped by '\\' collection items terminated by '\001'
        map keys terminated by ':' lines terminated by '\n' null defined as '\\N'
      stored as textfile location '/tmp/x' tblproperties ('skip.header.line.count'='1')"""
    command = _bind(text)
    assert isinstance(command, CreateTable)
    assert (command.database, command.name, command.kind) == ("other", "z", TableKind.EXTERNAL)
    assert command.if_not_exists
    assert [(field.name, str(field.dtype)) for field in command.schema] == [
        ("a", "int"),
        ("b", "map<string,array<int>>"),
        ("c", "decimal(10,2)"),
        ("d", "double"),
        ("e f", "varchar(10)"),
        ("g", "struct<x:int,y:array<map<string,decimal(5,1)>>>"),
    ]
    assert command.schema["a"].comment == "x"
    assert command.storage == StorageFormat(
        "text",
        (
            ("field.delim", "\t"),
            ("escape.delim", "\\"),
            ("collection.delim", "\x01"),
            ("mapkey.delim", ":"),
            ("line.delim", "\n"),
            ("serialization.null.format", "\\N"),
        ),
    )
    assert (command.location, command.comment) == ("/tmp/x", "hi")
    assert command.properties == (("skip.header.line.count", "1"),)


@pytest.mark.parametrize(
    ("clause", "expected"),
    [
        ("", None),
        ("stored as parquet", StorageFormat("parquet")),
        ("stored as ORC", StorageFormat("orc")),
        ("stored as jsonfile", StorageFormat("json")),
        ("using parquet", StorageFormat("parquet")),
        ("row format delimited", StorageFormat("text")),
        ("row format delimited fields terminated by '|'", StorageFormat("text", (("field.delim", "|"),))),
        (
            "row format serde 'org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe' "
            "with serdeproperties ('field.delim'='#')",
            StorageFormat("text", (("field.delim", "#"),)),
        ),
    ],
)
def test_storage_formats(clause: str, expected: StorageFormat | None) -> None:
    command = _bind(f"create table z (a int) {clause}")
    assert isinstance(command, CreateTable)
    assert command.storage == expected


def test_create_table_like_copies_schema_and_format() -> None:
    command = _bind("create table z like tpch.lineitem")
    assert isinstance(command, CreateTable)
    assert command.schema == _LINEITEM.schema
    assert command.storage == _LINEITEM.storage


@pytest.mark.parametrize(
    "text", ["create or replace table z (a int)", "create or replace temporary table z as select 1 as a"]
)
def test_create_or_replace_table(text: str) -> None:
    command = _bind(text)
    assert isinstance(command, CreateTable)
    assert command.or_replace
    again = _bind(text.replace("or replace ", ""))
    assert isinstance(again, CreateTable)
    assert not again.or_replace


def test_create_table_as_select() -> None:
    command = _bind("create table z stored as orc tblproperties ('k'='v') as select a, b as q, null as n from t")
    assert isinstance(command, CreateTable)
    assert command.query is not None
    assert [(field.name, str(field.dtype)) for field in command.schema] == [
        ("a", "int"),
        ("q", "string"),
        ("n", "string"),
    ]
    assert [column.dtype for column in command.query.output] == [field.dtype for field in command.schema]


@pytest.mark.parametrize(
    ("text", "conf", "cache"),
    [
        ("create table z_cached as select a from t", {}, "MEMORY"),
        ("create table z_cached as select a from t", {"shark.cache.flag.checkTableName": "false"}, None),
        ("create table z_cached tblproperties ('shark.cache'='none') as select a from t", {}, "none"),
        ("cache table z as select a from t", {}, "MEMORY_ONLY"),
    ],
)
def test_what_says_that_a_table_is_cached(text: str, conf: dict[str, str], cache: str | None) -> None:
    command = _bind(text, Conf(conf))
    assert isinstance(command, CreateTable)
    assert dict(command.properties).get("shark.cache") == cache


def test_create_view_keeps_its_text_and_names() -> None:
    command = _bind("create or replace view v (x comment 'c', y) comment 'v' as\n  select a, b from t -- all\n ;")
    assert isinstance(command, CreateView)
    assert command.text.startswith("select a, b from t")
    assert [(field.name, field.comment) for field in command.schema] == [("x", "c"), ("y", None)]
    assert (command.or_replace, command.temporary, command.comment) == (True, False, "v")


def test_alter_view_as_replaces_the_query() -> None:
    catalog = make_catalog()
    catalog.add_view("default", "v", "select a from t")
    command = bind("alter view v as select b from t", catalog, Conf(), "default")
    assert isinstance(command, CreateView)
    assert (command.name, command.or_replace, command.text) == ("v", True, "select b from t")


def _types(plan: LogicalPlan) -> list[tuple[str, str]]:
    return [(column.name, str(column.dtype)) for column in plan.output]


@pytest.mark.parametrize(
    "text",
    [
        "insert into t select 1, 2, 3, '2020-01-01', 4",
        "insert into table t values (1, 'a', 2.5, date '2020-01-01', 3), (2, null, null, null, null)",
        "insert overwrite table t (b, a) select b, a from t",
        "insert into t (select * from t)",
        "insert into t select * from t",
        "with q as (select a from t) insert into t (a) select a from q",
        "insert into t with q as (select a from t) select a, null, null, null, null from q",
        "insert into t from t select *",
    ],
)
def test_insert_yields_the_columns_of_the_table(text: str) -> None:
    command = _bind(text)
    assert isinstance(command, Insert)
    assert _types(command.query) == [(field.name, str(field.dtype)) for field in _T.schema]
    assert command.overwrite == ("overwrite" in text)


def test_insert_with_a_column_list_reorders_and_fills_with_null() -> None:
    command = _bind("insert into t (b, a) select 'x', 1")
    assert isinstance(command, Insert)
    assert command.query.label == ("Project [_c1#2 AS a#3, _c0#1 AS b#4, NULL AS c#5, NULL AS d#6, NULL AS e#7]")


@pytest.mark.parametrize(
    ("text", "analyze", "extended"),
    [
        ("explain select a from t", False, False),
        ("explain analyze select a from t", True, False),
        ("explain extended insert into t select * from t", False, True),
        ("explain create table z as select a from t", False, False),
    ],
)
def test_explain(text: str, analyze: bool, extended: bool) -> None:
    command = _bind(text)
    assert isinstance(command, Explain)
    assert (command.analyze, command.extended) == (analyze, extended)


def test_names_are_case_insensitive() -> None:
    assert _bind("SHOW COLUMNS IN T") == ShowColumns(_T)
    plan = _bind("SELECT T.A, `B` FROM Default.T WHERE C > 1 ORDER BY A")
    assert isinstance(plan, LogicalPlan)
    assert _types(plan) == [("a", "int"), ("b", "string")]
