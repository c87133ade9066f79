"""TPC-H at scale 0.01, from text to rows: one query in the driver, stages, and stages with every join shuffled."""

from __future__ import annotations

import math
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sharkpy.base.errors import TableNotFoundError
from sharkpy.base.settings import Conf
from sharkpy.catalog.file_options import NO_OPTIONS, FileOptions
from sharkpy.catalog.model import Database, Table, TableKind
from sharkpy.columnar.store import BlockStore
from sharkpy.optimizer.optimize import optimize
from sharkpy.physical.planner import plan_physical
from sharkpy.sql.binder import bind
from sharkpy.values.types import Field, Schema, arrow_schema, from_arrow
from tests.physical.simulate import World, cached, rows

QUERIES = Path(__file__).parents[2] / "bench" / "queries" / "tpch"
TABLES = ("customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier")


class Tables:
    """Tables: the part of a catalog that binding reads."""

    def __init__(self, tables: dict[str, pa.Table]) -> None:
        self.tables = {
            name: Table(
                name,
                "default",
                name,
                TableKind.MANAGED,
                Schema(tuple(Field(f.name, from_arrow(f.type)) for f in data.schema)),
            )
            for name, data in tables.items()
        }

    def find_table(self, database: str, name: str) -> Table | None:
        return self.tables.get(name)

    def table(self, database: str, name: str) -> Table:
        if name not in self.tables:
            raise TableNotFoundError(name)
        return self.tables[name]

    def system_table(self, name: str) -> None:
        return None

    def given_rows(self, name: str, *, is_registered: bool) -> None:
        return None

    def file_table(self, word: str, place: str, given: FileOptions = NO_OPTIONS) -> None:
        return None

    def resource_paths(self, kind: str) -> tuple[str, ...]:
        return ()

    def check_path(self, path: str) -> None:
        """Any path may be named."""

    def find_function(self, database: str, name: str) -> None:
        return None

    def database(self, name: str) -> Database:
        return Database(name, "")

    def table_names(self, database: str) -> list[str]:
        return list(self.tables)


class Figures:
    """Figures of row counts, as the optimizer asks for them."""

    def __init__(self, tables: dict[str, pa.Table]) -> None:
        self.tables = tables

    def num_rows(self, table: Table) -> int:
        return self.tables[table.name].num_rows

    def column(self, table: Table, name: str) -> None:
        return None


@pytest.fixture(scope="module")
def tables(tmp_path_factory) -> dict[str, pa.Table]:
    folder = tmp_path_factory.mktemp("tpch")
    tool = str(Path(sys.executable).parent / "tpcgen-cli")
    command = [tool, "tpch", "parquet", "-s", "0.01", "--output-dir", str(folder)]
    subprocess.run(command, check=True, capture_output=True)
    return {name: _logical(pq.read_table(folder / f"{name}.parquet")) for name in TABLES}


def _logical(table: pa.Table) -> pa.Table:
    schema = Schema(tuple(Field(f.name, from_arrow(f.type)) for f in table.schema))
    return table.cast(arrow_schema(schema)).combine_chunks()


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    made = BlockStore(1 << 30, str(tmp_path_factory.mktemp("shm")), str(tmp_path_factory.mktemp("local")))
    yield made
    made.close()


@pytest.fixture(scope="module")
def versions(store, tables):
    return {name: cached(store, data, 1 if data.num_rows < 100 else 3) for name, data in tables.items()}


@pytest.fixture(scope="module")
def peer(tables):
    connection = duckdb.connect()
    for name, data in tables.items():
        connection.register(name, data)
    yield connection
    connection.close()


def comparable(found: list[tuple]) -> list[tuple]:
    def plain(value):
        if isinstance(value, (Decimal, float)):
            number = float(value)
            return 0.0 if number == 0 else float(f"{number:.3g}") if abs(number) < 1 else round(number, 2)
        return value

    return sorted((tuple(plain(value) for value in row) for row in found), key=repr)


def assert_same(got: list[tuple], expected: list[tuple]) -> None:
    assert len(got) == len(expected)
    for one, other in zip(got, expected, strict=True):
        for a, b in zip(one, other, strict=True):
            if isinstance(a, (int, float)) and isinstance(b, (int, float)):
                assert math.isclose(a, b, rel_tol=1e-3, abs_tol=0.011), (one, other)
            else:
                assert a == b, (one, other)


CHOICES = {
    "driver": ("driver", {}),
    "stages": ("rdd", {}),
    "shuffled": ("rdd", {"shark.test.join": "shuffle", "shark.placement.driver": "false"}),
    "files": ("driver", {}),
}


@pytest.mark.variants(3)
@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize("number", range(1, 23))
def test_tpch(number, choice, tables, versions, peer):
    text = (QUERIES / f"q{number:02}.sql").read_text()
    placement, conf = CHOICES[choice]
    world = World(tables, conf=Conf(conf), versions={} if choice == "files" else versions)
    logical = optimize(bind(text, Tables(tables), world.conf, "default"), Figures(tables), world.conf)
    got = world.execute(plan_physical(logical, world.context(placement)).root)
    assert_same(comparable(rows(got)), comparable(peer.sql(text).fetchall()))
