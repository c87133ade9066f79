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
                == [{"stream": "default.clicks", "time": "2026-05-01 10:00:50"}]
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
    assert found["reads"] == [
        {"name": "default.clicks", "lag": 0, "num_partitions": 1, "partitions": [{"offset": 2, "end": 2}]}
    ]
    assert found["state_bytes"] > 0
    assert (found["held_back_by"], found["late_rows"]) == (None, 0)
    assert [one["number"] for one in found["retained"]] == [1, 2]
    assert "CREATE CONTINUOUS TABLE" in found["definition"]
    assert "CREATE STREAM" in stream["definition"]
    assert stream["node"]["place"] == str(clicks)


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
