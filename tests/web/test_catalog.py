"""Names, tables and what the engine knows of them; what users see of each other's statements there."""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

import sharkpy
from sharkpy.web.memory_calls import _spread
from tests.thrift.caller import Caller, over_http
from tests.web.conftest import Serve, Served

STATEMENTS = (
    "CREATE DATABASE shop COMMENT 'of the shop'",
    "CREATE TABLE shop.orders (id BIGINT NOT NULL ENABLE COMMENT 'its number', region STRING DEFAULT 'north' ENABLE, "
    "tags ARRAY<STRING>) TBLPROPERTIES ('shark.cache'='MEMORY')",
    "INSERT INTO shop.orders VALUES (1, 'north', array('a')), (2, 'south', NULL), (3, NULL, array('b', 'c'))",
    "CREATE TABLE shop.regions STORED AS PARQUET AS SELECT region, count(*) AS orders FROM shop.orders GROUP BY region",
    "INSERT INTO shop.regions SELECT region, orders + 1 FROM shop.regions LIMIT 1",
    "ANALYZE TABLE shop.regions COMPUTE STATISTICS FOR COLUMNS",
    "CREATE VIEW shop.`odd <b>view` AS SELECT * FROM shop.regions",
    "CREATE TABLE shop.logs (line STRING) PARTITIONED BY (day STRING)",
    "INSERT INTO shop.logs PARTITION (day='1') VALUES ('a')",
    "INSERT INTO shop.logs PARTITION (day='2') VALUES ('b')",
    "CREATE STREAM shop.feed FROM TABLE shop.orders",
    "CREATE CONTINUOUS TABLE shop.fed TRIGGER AVAILABLE NOW AS SELECT id FROM shop.feed",
    "CREATE FUNCTION shop.double_of(x INT) RETURNS INT RETURN x * 2",
)


@pytest.fixture(scope="module", autouse=True)
def shop(engine: sharkpy.SharkContext) -> Iterator[None]:
    for text in STATEMENTS:
        engine.sql(text).fetchall()
    engine.sql("SELECT count(*) FROM shop.orders").fetchall()
    yield
    engine.sql("DROP DATABASE shop CASCADE").fetchall()


def got(browser: httpx.Client, path: str, status: int = 200) -> dict[str, Any]:
    answer = browser.get(f"/api/v1/{path}")
    assert answer.status_code == status, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_databases_and_tables(serve: Serve, engine: sharkpy.SharkContext) -> None:
    engine.sql("CREATE TEMPORARY VIEW of_the_program AS SELECT 1 AS x").fetchall()
    with serve().browser() as browser:
        found = got(browser, "catalog")
        names = {f"{one['database']}.{one['name']}": one["kind"] for one in found["tables"]}
        assert names["shop.orders"] == "table"
        assert names["shop.odd <b>view"] == "view"
        assert names["shop.feed"] == "stream"
        assert names["shop.fed"] == "continuous table"
        assert names["sys.queries"] == "system table"
        assert "default.of_the_program" not in names
        [shop] = [one for one in found["databases"] if one["name"] == "shop"]
        assert shop == {"name": "shop", "comment": "of the shop", "num_tables": 6, "is_system": False}
        only = got(browser, "catalog?database=SHOP&text=ORDERS")
        assert only["tables"] == [{"database": "shop", "name": "orders", "kind": "table"}]
        listed, cursor = [], ""
        while cursor is not None:
            page = got(browser, f"catalog?limit=2&cursor={quote(cursor)}")
            listed += page["tables"]
            cursor = page["next"]
        assert listed == found["tables"]


def test_an_unchanged_list_is_not_sent_again(serve: Serve, engine: sharkpy.SharkContext) -> None:
    with serve().browser() as browser:
        for path in ("catalog", "functions"):
            tag = browser.get(f"/api/v1/{path}").headers["etag"]
            again = browser.get(f"/api/v1/{path}", headers={"If-None-Match": f'"other", {tag}'})
            assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
        tag = browser.get("/api/v1/catalog").headers["etag"]
        engine.sql("CREATE TABLE shop.another (a INT)").fetchall()
        assert browser.get("/api/v1/catalog", headers={"If-None-Match": tag}).status_code == 200
        engine.sql("DROP TABLE shop.another").fetchall()


def test_functions_have_their_usage(serve: Serve) -> None:
    with serve().browser() as browser:
        found = {one["name"]: one for one in got(browser, "functions")["functions"]}
        assert found["substr"]["usage"].startswith("substr(")
        assert found["sum"]["kind"] == "aggregate"
        assert found["explode"]["kind"] == "table function"
        assert found["shop.double_of"]["usage"] == "shop.double_of(x int)"
        assert "+" not in found
        assert all(one["usage"] for one in found.values())


def test_definition_of_a_table(serve: Serve) -> None:
    with serve().browser() as browser:
        orders = got(browser, "tables/shop/orders")
        assert orders["ddl"].startswith("CREATE TABLE `shop`.`orders`(")
        assert (orders["format"], orders["is_cached"], orders["has_history"]) == ("text", True, True)
        columns = got(browser, "tables/shop/orders/columns?limit=2")
        assert columns["num_columns"] == 3
        assert columns["columns"] == [
            {
                "name": "id",
                "type": "bigint",
                "comment": "its number",
                "is_partition": False,
                "is_required": True,
                "default": None,
            },
            {
                "name": "region",
                "type": "string",
                "comment": None,
                "is_partition": False,
                "is_required": False,
                "default": "'north'",
            },
        ]
        view = got(browser, f"tables/shop/{quote('odd <b>view')}")
        assert (view["kind"], view["has_files"], view["format"]) == ("view", False, None)
        assert "AS SELECT" in view["ddl"]
        assert got(browser, "tables/shop/logs/columns")["columns"][-1]["is_partition"]
        feed = {one["name"]: one["value"] for one in got(browser, "tables/shop/feed")["facts"]}
        assert feed["Source"] == "TABLE shop.orders"
        system = got(browser, "tables/sys/queries")
        assert (system["kind"], system["ddl"]) == ("system table", None)
        assert got(browser, "tables/sys/queries/columns")["columns"][0]["name"] == "query_id"


@pytest.mark.parametrize("part", ["", "columns", "size", "statistics", "memory", "files", "history", "lineage"])
def test_tables_that_are_missing(serve: Serve, part: str) -> None:
    with serve().browser() as browser:
        for name in ("shop/none", "none/orders", "sys/none", "%00/%F0%9F", "shop/a%2Eb"):
            answer = browser.get(f"/api/v1/tables/{name}/{part}".rstrip("/"))
            assert answer.status_code == 404, name
        assert browser.get(f"/api/v1/tables/sys/queries/{part}".rstrip("/")).status_code == 200


@pytest.mark.parametrize(
    "path",
    ["catalog?limit=0", "catalog?other=1", "tables/shop/orders/files?limit=501", "tables/shop/orders/files?offset=-1"],
)
def test_wrong_parameters(serve: Serve, path: str) -> None:
    with serve().browser() as browser:
        assert got(browser, path, 400)["error"]["sqlstate"] == "22023"


def test_sizes_and_files(serve: Serve) -> None:
    with serve().browser() as browser:
        size = got(browser, "tables/shop/orders/size")
        assert (size["num_files"], size["rows"], size["rows_from"]) == (1, 3, "memory")
        assert got(browser, "tables/shop/regions/size")["rows_from"] == "statistics"
        assert got(browser, f"tables/shop/{quote('odd <b>view')}/size")["bytes"] is None
        first, second = (got(browser, f"tables/shop/logs/files?limit=1&offset={one}") for one in (0, 1))
        assert [one["files"][0]["partition"] for one in (first, second)] == ["day=1", "day=2"]
        assert (first["num_files"], first["bytes"]) == (2, 4)
        assert first["files"][0]["modified"].endswith("Z")


def test_statistics_of_columns(serve: Serve) -> None:
    with serve().browser() as browser:
        identity, region, tags = got(browser, "tables/shop/orders/statistics")["columns"]
        assert (identity["source"], identity["low"], identity["high"], identity["num_nulls"]) == ("blocks", "1", "3", 0)
        assert (region["num_nulls"], region["num_distinct"], region["values"]) == (1, 2, ["north", "south"])
        assert (tags["num_nulls"], tags["num_distinct"], tags["values"]) == (1, None, None)
        [orders] = got(browser, "tables/shop/regions/statistics?offset=1")["columns"]
        assert (orders["name"], orders["source"], orders["high"]) == ("orders", "analyze", "2")
        [day] = got(browser, "tables/shop/logs/statistics?offset=1")["columns"]
        assert (day["source"], day["num_nulls"]) == (None, None)


def test_what_is_in_memory(serve: Serve, engine: sharkpy.SharkContext) -> None:
    with serve().browser() as browser:
        found = got(browser, "tables/shop/orders/memory?limit=2")
        assert (found["mode"], found["num_rows"], found["num_blocks"], found["num_in_memory"]) == ("MEMORY", 3, 1, 1)
        identity, region = found["columns"]
        assert sum(identity["encodings"].values()) == 1.0
        assert identity["decoded_bytes"] == 3 * 65 // 8
        assert region["decoded_bytes"] >= len("northsouth")
        engine.sql("SELECT upper(region) FROM shop.orders").fetchall()
        again = got(browser, "tables/shop/orders/memory")
        assert again["reads_from_memory"] == found["reads_from_memory"] + 1
        assert (again["reads_from_disk"], again["reads_loaded"]) == (0, found["reads_loaded"])
        not_cached = got(browser, "tables/shop/regions/memory")
        assert (not_cached["mode"], not_cached["is_loaded"], not_cached["columns"]) == ("NONE", False, [])


def test_a_sample_is_spread_over_all_blocks() -> None:
    assert _spread(range(1000), 4) == [0, 250, 500, 750]  # type: ignore[arg-type]
    assert _spread(range(3), 4) == [0, 1, 2]  # type: ignore[arg-type]
    assert _spread([], 4) == []


def test_history_is_paged(serve: Serve) -> None:
    with serve().browser() as browser:
        whole = got(browser, "tables/shop/regions/history")
        assert [one["rows_added"] for one in whole["changes"]] == [1, 3]
        assert whole["changes"][0]["statement"].startswith("INSERT INTO shop.regions")
        first = got(browser, "tables/shop/regions/history?limit=1")
        second = got(browser, f"tables/shop/regions/history?limit=1&before={first['next']}")
        assert first["changes"] + second["changes"] == whole["changes"]
        assert second["next"] is None


def edges(found: dict[str, Any]) -> set[tuple[str, str, str]]:
    return {(one["source"], one["target"], one["by"]) for one in found["edges"]}


def test_lineage(serve: Serve) -> None:
    with serve().browser() as browser:
        expected = {
            ("shop.orders", "shop.regions", "statement"),
            ("shop.regions", "shop.odd <b>view", "view"),
            ("shop.orders", "shop.feed", "stream"),
            ("shop.feed", "shop.fed", "continuous query"),
        }
        orders = got(browser, "tables/shop/orders/lineage")
        assert edges(orders) == expected
        assert {one["name"]: one["step"] for one in orders["tables"]} == {
            "orders": 0,
            "regions": 1,
            "feed": 1,
            "odd <b>view": 2,
            "fed": 2,
        }
        assert orders["is_whole"]
        [made] = [one for one in orders["edges"] if one["by"] == "statement"]
        assert made["statement"].startswith("CREATE TABLE shop.regions")
        view = got(browser, f"tables/shop/{quote('odd <b>view')}/lineage")
        assert edges(view) == {one for one in expected if one[2] in ("statement", "view")}
        fed = got(browser, "tables/shop/fed/lineage")
        assert {one["name"]: one["step"] for one in fed["tables"]} == {"fed": 0, "feed": -1, "orders": -2}


def test_statements_of_other_users_are_not_shown(serve: Serve) -> None:
    served: Served = serve(knows_users=True)
    with Caller(served.server.port, transport=over_http(served.server.port, "bob", "secret bob")) as caller:
        caller.execute("CREATE TABLE shop.of_bob AS SELECT 'secret of bob', id FROM shop.orders")
    with served.browser("ada") as ada, served.browser("bob") as bob, served.browser("root") as root:
        for path in ("shop/of_bob/history", "shop/of_bob/lineage", "shop/orders/lineage"):
            assert "secret of bob" not in ada.get(f"/api/v1/tables/{path}").text
            assert "secret of bob" in bob.get(f"/api/v1/tables/{path}").text
            assert "secret of bob" in root.get(f"/api/v1/tables/{path}").text
        [change] = got(ada, "tables/shop/of_bob/history")["changes"]
        assert (change["user"], change["statement"], change["rows_added"]) == (None, None, 3)
    with serve(knows_users=True).browser() as nobody:
        assert nobody.get("/api/v1/catalog").status_code == 401
        assert nobody.get("/api/v1/tables/shop/orders").status_code == 401


def test_five_thousand_tables_take_little_work(serve: Serve, engine: sharkpy.SharkContext) -> None:
    catalog = engine.catalog
    table = catalog.table("shop", "orders")
    engine.sql("CREATE DATABASE many").fetchall()
    with catalog.transaction():
        for number in range(5_000):
            one = dataclasses.replace(
                table, table_id=f"many{number}", database="many", name=f"t{number}", location=None
            )
            catalog._store.add(one)
    with serve().browser() as browser:
        got(browser, "catalog")
        taken = []
        for _ in range(5):
            started = time.process_time()
            found = got(browser, "catalog?database=many")
            taken.append(time.process_time() - started)
        assert len(found["tables"]) == 5_000
        assert min(taken) < 0.3
    with catalog.transaction():
        for number in range(5_000):
            catalog._store.remove(dataclasses.replace(table, table_id=f"many{number}"))
    engine.sql("DROP DATABASE many").fetchall()


def entries(browser: httpx.Client, path: object) -> list[str]:
    """Return the names of what continues a path, folders with a slash."""
    found = browser.get("/api/v1/folder", params={"path": str(path)})
    assert found.status_code == 200, found.text
    return [f"{one['name']}{'/' if one['is_folder'] else ''}" for one in found.json()["entries"]]


def test_entries_of_folders_that_statements_may_name(serve: Serve, tmp_path: Path) -> None:
    opened, secret = tmp_path / "open", tmp_path / "secret"
    for folder in (opened / "in 'quotes\"", opened / "Ünïcode`", secret):
        folder.mkdir(parents=True)
        (folder / "a.csv").write_text("x\n1\n")
    (opened / "Sales.csv").write_text("x\n1\n")
    (opened / "notes").write_text("")
    (opened / ".hidden.csv").write_text("")
    (opened / "_SUCCESS").write_text("")
    (opened / "out").symlink_to(secret)
    (opened / "out.csv").symlink_to(secret / "a.csv")
    (opened / "inside.csv").symlink_to(opened / "Sales.csv")
    (opened / "gone.csv").symlink_to(opened / "nothing")
    os.mkfifo(opened / "pipe.csv")
    Path(os.fsdecode(os.fsencode(str(opened)) + b"/\xff.csv")).write_text("")
    with serve(location_folders=(opened,)).browser() as browser:
        assert entries(browser, f"{opened}/") == ["Sales.csv", "in 'quotes\"/", "inside.csv", "notes", "Ünïcode`/"]
        assert entries(browser, f"{opened}/SA") == ["Sales.csv"]
        assert entries(browser, f"file:{opened}/Ü") == ["Ünïcode`/"]
        assert entries(browser, f"{opened}/in 'quotes\"/") == ["a.csv"]
        [found] = browser.get("/api/v1/folder", params={"path": f"{opened}/sales"}).json()["entries"]
        assert found == {"name": "Sales.csv", "is_folder": False, "bytes": 4, "format": "csv"}
        for refused in (
            secret,
            f"{secret}/",
            f"{opened}/../secret/",
            f"{opened}/out/",
            f"{opened}/none/",
            "",
            "~/",
            ".",
        ):
            assert not [one for one in entries(browser, refused) if not one.startswith(str(opened))], refused
        assert entries(browser, "/") == [f"{str(opened)[1:]}/"], "the way to the folders that statements may name"
        assert entries(browser, f"{tmp_path}/") == ["open/"]
        assert browser.get("/api/v1/folder", params={"path": "s3://bucket/"}).status_code == 400
        assert browser.get("/api/v1/folder", params={"path": "a\0/"}).status_code == 400


def test_folders_of_the_engine_are_not_shown(serve: Serve, engine: sharkpy.SharkContext) -> None:
    warehouse = engine.catalog.warehouse_dir
    with serve().browser() as browser:
        assert entries(browser, f"{warehouse}/") == [], "statements of clients cannot name the whole warehouse"
        assert entries(browser, f"{warehouse}/.sharkpy/") == []
        assert "regions/" in entries(browser, f"{warehouse}/shop.db/")
    with serve(knows_users=True).browser() as stranger:
        assert stranger.get("/api/v1/folder", params={"path": "/"}).status_code == 401


def test_a_part_of_a_huge_folder(serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(400):
        (tmp_path / f"{number}.csv").write_text("")
    with serve(location_folders=(tmp_path,)).browser() as browser:
        found = browser.get("/api/v1/folder", params={"path": f"{tmp_path}/"}).json()
        assert (len(found["entries"]), found["is_whole"]) == (300, False)
        found = browser.get("/api/v1/folder", params={"path": f"{tmp_path}/39"}).json()
        assert (len(found["entries"]), found["is_whole"]) == (11, True)
        monkeypatch.setattr("sharkpy.web.folder_calls._MOST_NAMES", 50)
        found = browser.get("/api/v1/folder", params={"path": f"{tmp_path}/"}).json()
        assert (len(found["entries"]), found["is_whole"]) == (50, False)
