"""dbt with its Spark adapter, over method thrift: seeds, models of every kind, tests and documents.

dbt's pins conflict with this project's, so that it is installed in an environment of its own, kept in build/.
Its snapshots and merges need a table format with transactions, which the adapter asks for itself.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.streaming.folder_input import put
from tests.thrift.clients.served import Served
from tests.waiting import until

HERE = Path(__file__).parent
BUILD = Path(__file__).parents[3] / "build"
PACKAGES = ("dbt-core<1.12", "dbt-spark<1.12", "PyHive", "thrift", "thrift_sasl", "pure-sasl")
CONSTRAINTS = HERE / "dbt-constraints.txt"

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]

Dbt = Callable[..., dict[str, str]]
MODELS = tuple(path.stem for path in (HERE / "dbt_project" / "models").glob("*.sql") if path.stem != "only_here")
"""The relations that are made: of the ephemeral model there is none."""


@pytest.fixture(scope="module")
def executable() -> Path:
    """The command `dbt`, installed unless it is there as the constraints have it."""
    folder = BUILD / f"dbt-{sys.version_info.major}.{sys.version_info.minor}"
    installed = folder / "installed.txt"
    if not installed.exists() or installed.read_text() != CONSTRAINTS.read_text():
        venv.create(folder, clear=True, with_pip=True)
        pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "-c", str(CONSTRAINTS), *PACKAGES], check=True)
        shutil.copyfile(CONSTRAINTS, installed)
    return folder / "bin" / "dbt"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, served: Served) -> Iterator[Path]:
    """A copy to work in; what was made of it is dropped at the end."""
    folder = tmp_path_factory.mktemp("dbt") / "project"
    shutil.copytree(HERE / "dbt_project", folder)
    yield folder
    for schema in ("shop", "shop_dbt_test__audit"):
        served.session.sql(f"DROP DATABASE IF EXISTS {schema} CASCADE")


@pytest.fixture
def dbt(executable: Path, project: Path, served: Served) -> Dbt:
    """Runs a command of dbt; the status of each node that it ran."""
    environ = {
        **os.environ,
        "SHARKPY_PORT": str(served.port),
        "DBT_PROFILES_DIR": str(project),
        "DBT_SEND_ANONYMOUS_USAGE_STATS": "false",
        "NO_COLOR": "1",
        "SHARKPY_LOADS": str(loads_of(served)),
    }

    def run(*command: str) -> dict[str, str]:
        done = subprocess.run(
            [str(executable), "--no-use-colors", *command],
            cwd=project,
            env=environ,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        results = json.loads((project / "target" / "run_results.json").read_text())["results"]
        return {one["unique_id"].split(".")[2]: one["status"] for one in results}

    return run


def loads_of(served: Served) -> Path:
    """Folder of the files of the stream `loads`, within what clients may name."""
    return Path(served.session.catalog.warehouse_dir, "loads")


def put_load(served: Served, name: str, numbers: Sequence[int]) -> None:
    put(loads_of(served), name, [{"n": number} for number in numbers])


def rows(served: Served, table: str) -> list[Any]:
    return sorted((tuple(row) for row in served.session.sql(f"SELECT * FROM shop.{table}").fetchall()), key=repr)


def test_a_project_is_seeded_built_tested_and_documented(dbt: Dbt, served: Served, project: Path) -> None:
    assert dbt("seed") == {"orders": "success", "customers": "success"}
    assert rows(served, "customers") == [("ada", "London"), ("bob", "Bern"), ("eve", "Wien")]

    assert dbt("run") == dict.fromkeys(MODELS, "success")
    assert rows(served, "days") == [(1, "2024-01-02"), (1, "2024-01-03"), (2, "2024-01-01")]
    assert rows(served, "of_bob") == [(20.0,)]
    per_customer = [row for row in rows(served, "per_customer") if row[0] != "eve"]
    assert per_customer == [("ada", "London", 2, 15.75, "large"), ("bob", "Bern", 1, 20.0, "large")]

    macros = rows(served, "macros")[0]
    assert [str(value) for value in macros[1:6]] == [
        *("2024-01-04 00:00:00", "121", "4", "2024-01-01 00:00:00", "2024-01-31")
    ]
    assert macros[6:7] + macros[8:] == ("b", "adax", 7, 2, "da")
    assert len(rows(served, "spine")) == 9
    assert {len(row) for row in rows(served, "growing")} == {2}

    served.session.sql("INSERT INTO shop.orders SELECT 5, 'bob', 1.5, DATE '2024-01-03'")
    assert dbt("run") == dict.fromkeys(MODELS, "success")
    assert rows(served, "days") == [(1, "2024-01-02"), (2, "2024-01-01"), (2, "2024-01-03")]
    assert [row[1] for row in rows(served, "log_of_runs")] == [3, 3]

    assert {row[2] for row in rows(served, "growing")} == {None, 7}

    tested = dbt("test")
    assert len(tested) == 8
    assert set(tested.values()) == {"pass"}

    assert set(dbt("run", "--full-refresh").values()) == {"success"}
    assert [row[1] for row in rows(served, "log_of_runs")] == [3]

    assert rows(served, "arrived") == []
    with served.session.push("shop.pushed") as out:
        out.write([(1,), (0,), (2,)])
    until(lambda: rows(served, "arrived") == [(1, 2), (2, 4)])
    assert dbt("run", "--select", "arrived")["arrived"] == "success"
    with served.session.push("shop.pushed") as out:
        out.write([(3,)])
    until(lambda: rows(served, "arrived") == [(1, 2), (2, 4), (3, 6)])

    dbt("docs", "generate")
    catalog = json.loads((project / "target" / "catalog.json").read_text())
    described = {name.split(".")[2]: node for name, node in catalog["nodes"].items()}
    assert set(described) >= {*MODELS, "orders", "customers"}
    assert list(described["per_customer"]["columns"]) == ["customer", "city", "orders", "total", "size"]
    assert described["big_orders"]["metadata"]["type"] == "view"
    assert not catalog["errors"]

    dbt("source", "freshness")


def test_a_model_reads_what_has_come_since_its_last_run(dbt: Dbt, served: Served) -> None:
    for name, numbers, added, expected in (
        ("first", [1, 2], 0, [(1, 1), (2, 2)]),
        ("second", [3], 10, [(1, 1), (2, 2), (3, 13)]),
    ):
        put_load(served, name, numbers)
        assert dbt("run", "--select", "loaded", "--vars", f"{{added: {added}}}")["loaded"] == "success"
        assert rows(served, "loaded") == expected
    put_load(served, "third", [4])
    assert rows(served, "loaded") == expected
    assert dbt("run", "--select", "loaded", "--full-refresh")["loaded"] == "success"
    assert rows(served, "loaded") == [(n, n) for n in range(1, 5)]


def test_the_documents_have_the_macro_that_is_tested() -> None:
    macro = (HERE / "dbt_project" / "macros" / "continuous_table.sql").read_text()
    assert f"```sql\n{macro}```" in (BUILD.parent / "docs" / "server.md").read_text()


def test_a_failing_model_tells_why(dbt: Dbt, project: Path) -> None:
    model = project / "models" / "wrong.sql"
    model.write_text("select nope from {{ ref('orders') }}")
    dbt("seed")
    try:
        with pytest.raises(AssertionError, match='no column "nope"'):
            dbt("run", "--select", "wrong")
    finally:
        model.unlink()


LAKES = ("--vars", "{lakes: true}")
"""Enables the models and snapshots in table formats."""


def test_merges_and_snapshots_of_table_formats_run_again(dbt: Dbt, served: Served) -> None:
    """Each incremental model and snapshot makes its table in the first run and merges in the later ones."""
    pytest.importorskip("deltalake")
    pytest.importorskip("pyiceberg")
    models = [path.stem for path in (HERE / "dbt_project" / "models" / "lake").glob("*.sql")]
    dbt("seed", "--full-refresh")
    for _ in range(2):
        assert dbt("run", "--select", "lake", *LAKES) == dict.fromkeys(models, "success")
        assert set(dbt("snapshot", *LAKES).values()) == {"success"}
    served.session.sql(
        "INSERT OVERWRITE shop.orders SELECT id, customer, if(id = 4, 9.5, amount), day FROM shop.orders WHERE id <> 3"
    )
    served.session.sql("INSERT INTO shop.orders SELECT 5, 'bob', 1.5, DATE '2024-01-03'")
    assert dbt("run", "--select", "lake", *LAKES) == dict.fromkeys(models, "success")
    assert set(dbt("snapshot", *LAKES).values()) == {"success"}

    for lake in ("delta", "iceberg"):
        found = [row[:3] for row in rows(served, f"merged_{lake}")]
        assert found == [(1, "ada", 10.5), (2, "bob", 20.0), (3, "ada", 5.25), (4, "eve", 9.5), (5, "bob", 1.5)]
        assert rows(served, f"replaced_{lake}") == [("ada", 2), ("bob", 2), ("eve", 1)]
        history = served.session.sql(
            f"SELECT id, amount, dbt_valid_to IS NULL FROM shop.history_{lake} ORDER BY id, dbt_valid_from"
        ).fetchall()
        assert [tuple(row) for row in history] == [
            *[(1, 10.5, True), (2, 20.0, True), (3, 5.25, False), (4, None, False), (4, 9.5, True), (5, 1.5, True)]
        ]
    extra = served.session.sql("SELECT id, amount, extra FROM shop.columns_delta ORDER BY id").fetchall()
    assert [tuple(row) for row in extra] == [(1, 10.5, 7), (2, 20.0, 7), (3, 5.25, 7), (4, 9.5, 7), (5, 1.5, 7)]
    assert set(dbt("run", "--select", "lake", "--full-refresh", *LAKES).values()) == {"success"}
    assert len(rows(served, "merged_iceberg")) == 4
