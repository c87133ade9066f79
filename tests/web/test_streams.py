"""Streams in the API: their graph, one of them with its epochs, and a query that fails and is resumed."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

import sharkpy
from tests.waiting import until
from tests.web.conftest import Serve


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "in"
    made.mkdir()
    return made


@pytest.fixture
def clicks(engine: sharkpy.SharkContext, folder: Path) -> Iterator[Path]:
    """The folder of a stream `clicks` with event times, a continuous table `per_url` with a state, and others."""
    made: list[str] = []

    def make(kind: str, name: str, rest: str) -> None:
        engine.sql(f"CREATE {kind} {name} {rest}").close()
        made.append(f"DROP {kind} {name}")

    columns = "(url STRING, n BIGINT, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL 10 SECONDS)"
    make("STREAM", "clicks", f"{columns} STORED AS JSONFILE FROM FOLDER '{folder}'")
    make("TABLE", "large", "(url STRING, n BIGINT)")
    select = "SELECT url, sum(n) AS n FROM clicks GROUP BY url WINDOWING 60 s"
    make("CONTINUOUS TABLE", "per_url", f"EMIT APPEND ON BAD ROW SKIP TO bad_clicks AS {select}")
    make("CONTINUOUS INSERT", "large_clicks", "AS INSERT INTO large SELECT url, n FROM clicks WHERE n > 10")
    make("STREAM", "urls", "FROM TABLE large")
    engine.streams.start()
    yield folder
    for statement in reversed(made):
        engine.sql(statement).close()
    engine.sql("DROP TABLE bad_clicks").close()


numbers = itertools.count()


def put(folder: Path, *lines: str) -> None:
    path = folder / f"f{next(numbers)}.json"
    path.with_suffix(".tmp").write_text("".join(f"{line}\n" for line in lines))
    path.with_suffix(".tmp").rename(path)


def click(url: str, n: int, minute: int = 0) -> str:
    return f'{{"url": "{url}", "n": {n}, "ts": "2026-05-01T10:{minute:02}:00"}}'


def node_of(browser: httpx.Client, name: str) -> dict[str, Any]:
    found = [one for one in browser.get("/api/v1/streams").json()["nodes"] if one["name"] == name]
    assert len(found) == 1
    return found[0]


def stream_of(browser: httpx.Client, name: str) -> dict[str, Any]:
    answer = browser.get(f"/api/v1/streams/{name}")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def watermark(stream: str, time: str, latest: str, lag: float) -> dict[str, Any]:
    return {"stream": stream, "time": time, "latest": latest, "lag_seconds": lag, "is_idle": False}


def run(browser: httpx.Client, statement: str) -> httpx.Response:
    return browser.post("/v1/sql", json={"statement": statement}, headers={"Accept": "application/json"})


def test_the_graph(serve: Serve, clicks: Path) -> None:
    with serve().browser() as browser:
        answer = browser.get("/api/v1/streams").json()
    kinds = {one["name"]: (one["kind"], one["source"]) for one in answer["nodes"]}
    assert kinds == {
        "default.clicks": ("stream", "FOLDER"),
        "default.per_url": ("continuous_table", None),
        "default.bad_clicks": ("table", None),
        "default.large_clicks": ("insert", None),
        "default.large": ("table", None),
        "default.urls": ("stream", "TABLE"),
    }
    edges = {(one["source"], one["target"], one["kind"]) for one in answer["edges"]}
    assert edges == {
        ("default.clicks", "default.per_url", "reads"),
        ("default.clicks", "default.large_clicks", "reads"),
        ("default.per_url", "default.bad_clicks", "bad_rows"),
        ("default.large_clicks", "default.large", "writes"),
        ("default.large", "default.urls", "follows"),
    }


def test_one_query_with_its_epochs_and_its_state(serve: Serve, clicks: Path) -> None:
    put(clicks, click("/a", 1), click("/b", 20), "not JSON")
    with serve().browser() as browser:
        until(lambda: node_of(browser, "default.per_url")["epoch"] == 1)
        put(clicks, click("/a", 2, minute=1))
        until(lambda: [one["number"] for one in stream_of(browser, "per_url")["epochs"]] == [1, 2])
        until(
            lambda: (
                stream_of(browser, "per_url")["watermarks"]
                == [watermark("default.clicks", "2026-05-01 10:00:50", "2026-05-01 10:01:00", 0)]
            )
        )
        found, stream = stream_of(browser, "per_url"), stream_of(browser, "default.clicks")
    first = found["epochs"][0]
    assert (first["bad_rows"], first["waiting"]) == (1, 1)
    phases = [first[f"{phase}_seconds"] for phase in ("plan", "run", "commit")]
    assert min(phases) > 0
    assert sum(phases) == pytest.approx(first["seconds"], abs=1e-4)
    node = found["node"]
    assert (node["state"], node["error"], node["lag"], node["bad_rows"]) == ("running", None, 0, 1)
    assert node["rows_per_second"] > 0
    assert node["epoch_seconds"] > 0
    one = {"offset": 2, "end": 2, "latest": None, "lag_seconds": None, "is_before_watermark": False}
    read = {"name": "default.clicks", "lag": 0, "num_partitions": 1, "partitions": [one], "slowest_partition": None}
    assert found["reads"] == [read]
    assert found["state_bytes"] > 0
    assert (found["watermark"], found["held_back_by"], found["late_rows"]) == ("2026-05-01 10:00:50", None, 0)
    assert [one["number"] for one in found["retained"]] == [1, 2]
    assert "CREATE CONTINUOUS TABLE" in found["definition"]
    assert "CREATE STREAM" in stream["definition"]
    assert stream["node"]["place"] == str(clicks)


def test_the_stream_that_holds_a_join_back(
    serve: Serve, engine: sharkpy.SharkContext, clicks: Path, tmp_path: Path
) -> None:
    views = tmp_path / "views"
    views.mkdir()
    columns = "(url STRING, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL 5 SECONDS)"
    engine.sql(f"CREATE STREAM views {columns} STORED AS JSONFILE FROM FOLDER '{views}'").close()
    bounds = "v.ts >= c.ts AND v.ts <= c.ts + INTERVAL 1 MINUTE"
    query = f"SELECT c.url, v.ts FROM clicks c LEFT JOIN views v ON c.url = v.url AND {bounds}"
    engine.sql(f"CREATE CONTINUOUS TABLE viewed EMIT APPEND AS {query}").close()
    try:
        put(clicks, click("/a", 1, minute=9))
        put(views, click("/a", 1, minute=1))
        expected = [
            watermark("default.clicks", "2026-05-01 10:08:50", "2026-05-01 10:09:00", 0),
            watermark("default.views", "2026-05-01 10:00:55", "2026-05-01 10:01:00", 475),
        ]
        with serve().browser() as browser:

            def look() -> dict[str, Any]:
                return stream_of(browser, "viewed")

            until(lambda: sorted(look()["watermarks"], key=lambda one: str(one["stream"])) == expected)
            assert (look()["watermark"], look()["held_back_by"]) == ("2026-05-01 10:00:55", "default.views")
            put(views, click("/a", 1, minute=20))
            until(lambda: look()["held_back_by"] == "default.clicks")
            assert look()["watermark"] == "2026-05-01 10:08:50"
    finally:
        engine.sql("DROP CONTINUOUS TABLE viewed").close()
        engine.sql("DROP STREAM views").close()


def test_a_query_fails_is_mended_and_resumed(serve: Serve, engine: sharkpy.SharkContext, clicks: Path) -> None:
    with serve().browser() as browser:
        put(clicks, click("/a", 20))
        until(lambda: node_of(browser, "default.large_clicks")["epoch"] == 1)
        engine.sql("ALTER TABLE large RENAME TO renamed").close()
        put(clicks, click("/b", 30))
        until(lambda: node_of(browser, "default.large_clicks")["state"] == "stopped")
        node = stream_of(browser, "default.large_clicks")["node"]
        assert "large" in node["error"]
        assert (node["epoch"], node["lag"], node["failures"]) == (1, 1, 1)
        engine.sql("ALTER TABLE renamed RENAME TO large").close()
        assert run(browser, "RESUME CONTINUOUS INSERT default.large_clicks").status_code == 200
        until(lambda: node_of(browser, "default.large_clicks")["epoch"] == 2)
        node = node_of(browser, "default.large_clicks")
        assert (node["state"], node["error"], node["lag"]) == ("running", None, 0)
        assert run(browser, "PAUSE CONTINUOUS INSERT default.large_clicks").status_code == 200
        assert node_of(browser, "default.large_clicks")["state"] == "paused"


def test_rollback_to_a_retained_epoch(serve: Serve, clicks: Path) -> None:
    with serve().browser() as browser:
        run(browser, "PAUSE CONTINUOUS INSERT large_clicks")
        run(browser, "ALTER CONTINUOUS TABLE per_url ON BAD ROW NULL")
        for number in (1, 2):
            put(clicks, click("/a", number))
            until(lambda number=number: node_of(browser, "default.per_url")["epoch"] == number)
        run(browser, "PAUSE CONTINUOUS TABLE default.per_url")
        assert run(browser, "ROLLBACK CONTINUOUS TABLE default.per_url TO EPOCH 1").status_code == 200
        found = stream_of(browser, "default.per_url")
        assert (found["node"]["state"], found["node"]["epoch"]) == ("paused", 1)
        assert [one["number"] for one in found["epochs"]] == [1]


@pytest.mark.parametrize("name", ["default.large", "nothing", "a.b.c", "default.", "sys.epochs"])
def test_names_that_are_no_streams(serve: Serve, clicks: Path, name: str) -> None:
    with serve().browser() as browser:
        answer = browser.get(f"/api/v1/streams/{name}")
    assert (answer.status_code, answer.json()["error"]["sqlstate"]) == (404, "42704")


def test_streams_need_a_login(serve: Serve) -> None:
    with serve(knows_users=True).browser() as browser:
        assert browser.get("/api/v1/streams").status_code == 401
        assert browser.get("/api/v1/streams/clicks").status_code == 401
