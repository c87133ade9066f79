"""Catalog of a few tables in memory, for tests of the binder."""

from __future__ import annotations

import itertools
from dataclasses import replace

from sharkpy.base.errors import DatabaseNotFoundError, TableNotFoundError, did_you_mean
from sharkpy.base.settings import Conf
from sharkpy.catalog.file_options import NO_OPTIONS, FileOptions
from sharkpy.catalog.model import Database, StorageFormat, StreamSource, Table, TableKind, Watermark
from sharkpy.catalog.system_tables import SystemTable
from sharkpy.catalog.table_history import Change, VersionPoint
from sharkpy.plan.commands import CreateView
from sharkpy.plan.logical import LogicalPlan
from sharkpy.sql.binder import bind
from sharkpy.values.type_parser import parse_type
from sharkpy.values.types import Field, Schema

_TPCH = {
    "region": "r_regionkey bigint, r_name string, r_comment string",
    "nation": "n_nationkey bigint, n_name string, n_regionkey bigint, n_comment string",
    "supplier": "s_suppkey bigint, s_name string, s_address string, s_nationkey bigint, s_phone string, "
    "s_acctbal decimal(15,2), s_comment string",
    "customer": "c_custkey bigint, c_name string, c_address string, c_nationkey bigint, c_phone string, "
    "c_acctbal decimal(15,2), c_mktsegment string, c_comment string",
    "part": "p_partkey bigint, p_name string, p_mfgr string, p_brand string, p_type string, p_size int, "
    "p_container string, p_retailprice decimal(15,2), p_comment string",
    "partsupp": "ps_partkey bigint, ps_suppkey bigint, ps_availqty int, ps_supplycost decimal(15,2), ps_comment string",
    "orders": "o_orderkey bigint, o_custkey bigint, o_orderstatus string, o_totalprice decimal(15,2), "
    "o_orderdate date, o_orderpriority string, o_clerk string, o_shippriority int, o_comment string",
    "lineitem": "l_orderkey bigint, l_partkey bigint, l_suppkey bigint, l_linenumber int, l_quantity decimal(15,2), "
    "l_extendedprice decimal(15,2), l_discount decimal(15,2), l_tax decimal(15,2), l_returnflag string, "
    "l_linestatus string, l_shipdate date, l_commitdate date, l_receiptdate date, l_shipinstruct string, "
    "l_shipmode string, l_comment string",
}
_TEST = {
    "t": "a int, b string, c double, d date, e decimal(10,2)",
    "u": "a int, x bigint, s struct<f:int,g:struct<h:string>>",
    "n": "k int, items array<int>, tags map<string,int>, points array<struct<x:int,y:double>>",
}


class MemoryCatalog:
    """Read side of the catalog over a dictionary."""

    def __init__(self) -> None:
        self._ids = itertools.count(1)
        self._tables: dict[tuple[str, str], Table] = {}
        self._databases = {"default", "tpch", "other"}

    def add(self, database: str, name: str, columns: str, kind: TableKind = TableKind.MANAGED) -> None:
        self._put(database, name, kind, Schema(tuple(_fields(columns))), None)

    def add_stream(self, database: str, name: str, columns: str, watermark: Watermark | None = None) -> None:
        """Add a stream of files of JSON."""
        self.add(database, name, columns, TableKind.STREAM)
        source, storage = StreamSource("FOLDER", place="/in"), StorageFormat("json")
        self.put(replace(self._tables[database, name], stream=source, storage=storage, watermark=watermark))

    def add_view(self, database: str, name: str, text: str) -> None:
        """Add a view, bound as CREATE VIEW binds it."""
        view = bind(f"create view {name} as {text}", self, Conf(), database)
        assert isinstance(view, CreateView)
        self._put(database, name, TableKind.VIEW, view.schema, view.text)

    def replace_view_text(self, database: str, name: str, text: str) -> None:
        table = self._tables[database, name]
        self._put(database, name, table.kind, table.schema, text)

    def _put(self, database: str, name: str, kind: TableKind, schema: Schema, text: str | None) -> None:
        table = Table(f"t{next(self._ids)}", database, name, kind, schema, view_text=text)
        self.put(table)

    def put(self, table: Table) -> None:
        """Add a table as it is, in place of one of its name."""
        self._tables[table.database, table.name] = table

    def table(self, database: str, name: str) -> Table:
        if (found := self.find_table(database, name)) is None:
            hint = did_you_mean(name, self.table_names(database))
            raise TableNotFoundError(f'no table "{database}.{name}"', hint=hint)
        return found

    def find_table(self, database: str, name: str) -> Table | None:
        return self._tables.get((database, name))

    def find_entry(self, database: str, name: str) -> Table | None:
        return self.find_table(database, name)

    def at(self, table: Table, point: VersionPoint) -> Table:
        raise AssertionError("it has no earlier versions")

    def changes(self, table: Table, first: int, last: int) -> list[Change]:
        raise AssertionError("it has no earlier versions")

    def lake_facts(self, table: Table, what: str) -> SystemTable:
        raise AssertionError("it has no lake tables")

    def system_table(self, database: str, name: str) -> None:
        return None

    def source_of(self, stream: Table) -> Table | None:
        return None

    def given_rows(self, name: str, *, is_registered: bool) -> None:
        return None

    def file_table(self, word: str, place: str, given: FileOptions = NO_OPTIONS) -> None:
        return None

    def resource_paths(self, kind: str) -> tuple[str, ...]:
        return ()

    def check_path(self, path: str) -> None:
        """Any path may be named."""

    def named_schema_text(self, location: str) -> str:
        raise AssertionError("it reads no remote schemas")

    def find_function(self, database: str, name: str) -> None:
        return None

    def function_place(self, database: str, name: str) -> None:
        return None

    def database(self, name: str) -> Database:
        if name not in self._databases:
            raise DatabaseNotFoundError(f'no database "{name}"', hint=did_you_mean(name, self._databases))
        return Database(name, f"/{name}")

    def table_names(self, database: str) -> list[str]:
        return [name for (owner, name) in self._tables if owner == database]


def _fields(columns: str) -> list[Field]:
    fields, depth, start = [], 0, 0
    for index, character in enumerate(columns + ","):
        depth += (character in "<(") - (character in ">)")
        if character == "," and depth == 0:
            name, dtype = columns[start:index].strip().split(" ", 1)
            fields.append(Field(name, parse_type(dtype)))
            start = index + 1
    return fields


def make_catalog() -> MemoryCatalog:
    catalog = MemoryCatalog()
    for name, columns in _TEST.items():
        catalog.add("default", name, columns)
    for name, columns in _TPCH.items():
        catalog.add("tpch", name, columns)
    catalog.add("other", "t", "z int")
    catalog.add_stream("default", "clicks", "a int, b string, items array<int>")
    catalog.add_stream("default", "visits", "a int, b string")
    return catalog


def plan_of(text: str, catalog: MemoryCatalog | None = None, database: str = "default") -> LogicalPlan:
    plan = bind(text, catalog or make_catalog(), Conf(), database)
    assert isinstance(plan, LogicalPlan)
    return plan
