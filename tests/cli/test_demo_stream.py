"""The tour's stream: each hour's flights are seen, also when the tour is taken again."""

from __future__ import annotations

from pathlib import Path

import sharkpy
from sharkpy.demo.run_demo import show_stream


def test_flights_of_each_hour_are_seen(tmp_path: Path) -> None:
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        context.sql("CREATE TABLE airlines AS SELECT 'AA' AS carrier, 'Some Airline' AS name")
        context.sql(
            "CREATE TABLE flights AS SELECT 7 AS month, 4 AS day, CAST(5 + h AS INT) AS hour, 'AA' AS carrier,"
            " CAST(h AS INT) AS flight, 'BOS' AS dest, 10 AS dep_delay FROM (SELECT explode(sequence(0, 2)) AS h) x"
        )
        for _ in range(2):
            said: list[str] = []
            show_stream(context, tmp_path / "in", said.append)
            assert [line.split()[:2] for line in said[-3:]] == [["05:00", "1"], ["06:00", "2"], ["07:00", "3"]]
            assert said[-1].endswith("Some Airline: 3, 10.0 minutes late on average")
