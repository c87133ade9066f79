"""Filters of overlapping windows let fewer of them be made; the rows are the same."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

import sharkpy

TIMES = [f"2026-05-01 10:{minute:02}:{second:02}" for minute in (29, 30, 31) for second in (55, 5, 6)]


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sharkpy.SharkContext]:
    chance = random.Random(0)
    with sharkpy.connect("local[2]", tmp_path_factory.mktemp("windows")) as context:
        context.sql("CREATE TABLE events (ts TIMESTAMP, v INT)")
        times = [f"2026-05-01 10:{chance.randrange(60):02}:{chance.uniform(0, 59.9):06.3f}" for _ in range(300)]
        times += ["1969-12-31 23:59:58.5", "1970-01-01 00:00:00"]
        rows = ", ".join(f"(TIMESTAMP '{one}', {place})" for place, one in enumerate(times))
        context.sql(f"INSERT INTO events VALUES {rows}, (NULL, 7)")
        yield context


def condition(chance: random.Random) -> str:
    part, time, other = chance.choice(("s", "t")), *(f"TIMESTAMP '{chance.choice(TIMES)}'" for _ in range(2))
    return chance.choice(
        (
            f"{part} {chance.choice(('=', '<', '<=', '>', '>='))} {time}",
            f"{time} {chance.choice(('=', '<', '<=', '>', '>='))} {part}",
            f"{part} BETWEEN {time} AND {other}",
            f"{part} < TIMESTAMP '1970-01-01 00:00:01'",
            f"{part} > {time} OR n > 3",
        )
    )


@pytest.mark.variants(3)
@pytest.mark.parametrize(("size", "slide"), [("60 s", "7 s"), ("10 s", "3 s"), ("1 m", "1 m"), ("2 s", "2 s")])
def test_the_rows_are_the_same(context: sharkpy.SharkContext, size: str, slide: str) -> None:
    chance = random.Random(size)
    query = "SELECT window.start AS s, window.end AS t, count(*) AS n, sum(v) AS total FROM events"
    for _ in range(12):
        where = " AND ".join(condition(chance) for _ in range(chance.choice((1, 1, 2, 3))))
        text = f"SELECT * FROM ({query} WINDOWING {size} EVERY {slide} ON ts) w WHERE {where} ORDER BY s"
        found = []
        for excluded in ("", "bound_windows"):
            context.sql(f"SET shark.optimizer.excluded.rules={excluded}")
            found.append(context.sql(text).fetchall())
        assert found[0] == found[1], where


def test_few_windows_are_made(context: sharkpy.SharkContext) -> None:
    context.sql("SET shark.optimizer.excluded.rules=")
    text = "SELECT count(*) FROM events GROUP BY window(ts, '1 hour', '1 second') HAVING window.end = TIMESTAMP '{}'"
    plan = "\n".join(row[0] for row in context.sql("EXPLAIN " + text.format(TIMES[0])).fetchall())
    assert "windows_between" in plan
    assert "ts#1 >= 2026-05-01 09:29:55" in plan
