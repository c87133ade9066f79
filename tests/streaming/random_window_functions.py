"""Random queries of window functions over a stream, in HiveQL and for DuckDB."""

from __future__ import annotations

import random

_RANGE = "RANGE BETWEEN INTERVAL '{}' SECOND PRECEDING AND CURRENT ROW"
_BY_RANGE = (
    *((f"sum(v) OVER ({{}} {_RANGE.format(seconds)})", 0) for seconds in (1, 5, 30)),
    (f"count(DISTINCT v) OVER ({{}} {_RANGE.format(7)})", 0),
    ("max(id) OVER ({} RANGE BETWEEN INTERVAL '9' SECOND PRECEDING AND INTERVAL '2' SECOND PRECEDING)", 0),
    ("count(*) OVER ({} RANGE BETWEEN CURRENT ROW AND CURRENT ROW)", 0),
)
_AHEAD = (
    ("sum(v) OVER ({} RANGE BETWEEN CURRENT ROW AND INTERVAL '4' SECOND FOLLOWING)", 4),
    ("count(*) OVER ({} RANGE BETWEEN INTERVAL '3' SECOND PRECEDING AND INTERVAL '6' SECOND FOLLOWING)", 6),
    ("min(id) OVER ({} RANGE BETWEEN INTERVAL '1' SECOND FOLLOWING AND INTERVAL '8' SECOND FOLLOWING)", 8),
)
"""With the seconds by which the watermark has to pass a row."""
_BY_ROWS = (
    ("lag(ts) OVER ({})", 1),
    ("lag(ts, 3) OVER ({})", 3),
    ("min(ts) OVER ({} ROWS BETWEEN 4 PRECEDING AND CURRENT ROW)", 4),
    ("count(ts) OVER ({} ROWS BETWEEN 2 PRECEDING AND 1 PRECEDING)", 2),
    ("first_value(ts) OVER ({} ROWS 2 PRECEDING)", 2),
)
"""Of the time, which rows of one time have alike: which of these is first, nothing tells."""
_RUNNING = (
    ("row_number() OVER ({})", 1),
    ("count(*) OVER ({})", 1),
    ("count(v) OVER ({})", 1),
    ("sum(v) OVER ({})", 1),
    ("sum(d) OVER ({})", 1),
    ("min(id) OVER ({})", 1),
    ("rank() OVER ({})", 1),
    ("avg(v) OVER ({})", 1),
    ("first_value(ts) OVER ({})", 1),
    ("max(d) OVER ({} RANGE UNBOUNDED PRECEDING)", 1),
    ("dense_rank() OVER ({})", 1),
    # A double between two hundredths is rounded by its digits here and by its bits in DuckDB.
    ("CAST(round(CAST(avg(d) OVER ({}) AS DOUBLE) + 0.0012345, 2) AS DECIMAL(20,2))", 1),
    ("count(id) OVER ({} ROWS UNBOUNDED PRECEDING)", 1),
)
"""Functions of running rows, which also keep something of each partition."""


_ROWS_AHEAD = (
    ("lead(ts) OVER ({})", 1),
    ("lead(ts, 2) OVER ({})", 2),
    ("max(ts) OVER ({} ROWS BETWEEN 1 PRECEDING AND 3 FOLLOWING)", 3),
    ("min(ts) OVER ({} ROWS BETWEEN 1 FOLLOWING AND 2 FOLLOWING)", 2),
)
"""Functions, with the number of rows that have to come after the rows of a row's time."""


def definition(chance: random.Random) -> tuple[str, str, bool]:
    """A query, in HiveQL and for DuckDB, and whether its state grows."""
    over = chance.choice(("PARTITION BY k ORDER BY ts", "PARTITION BY k, b ORDER BY ts", "ORDER BY ts"))
    by_rows = [*chance.sample(_BY_ROWS, chance.randrange(3)), *chance.sample(_RUNNING, chance.choice((0, 0, 1, 3)))]
    rows_ahead = chance.sample(_ROWS_AHEAD, chance.choice((0, 0, 1, 2)))
    by_rows += rows_ahead
    ahead = [] if rows_ahead else chance.sample(_AHEAD, chance.choice((0, 0, 1, 2)))
    by_range = _BY_RANGE[-1:] if rows_ahead else _BY_RANGE
    number = min(chance.randrange(0 if by_rows else 1, 3), len(by_range))
    found = [*by_rows, *chance.sample(by_range, number), *ahead]
    own = "k, ts" if by_rows and "b" not in over else "k, b, ts" if by_rows else "id, k, v, ts"
    if by_rows and "PARTITION" not in over:
        own = "ts"
    items = ", ".join(f"{text.format(over)} AS f{place}" for place, (text, _) in enumerate(found))
    where = chance.choice(("", "v > 0", "k <> 'a' OR b"))
    in_time = "ts IS NOT NULL AND (before IS NULL OR ts >= before)"
    hive = f"SELECT {own}, {items} FROM (SELECT * FROM events{f' WHERE {where}' if where else ''}) e"
    both = f" WHERE {in_time}" + (f" AND ({where})" if where else "")
    passed = f"ts + INTERVAL {max((seconds for _, seconds in ahead), default=0)} SECOND < (SELECT w FROM mark)"
    duck = f"SELECT {own}, {items} FROM events{both}"
    if rows_ahead:
        # Rows of one time wait for the rows after the last of them.
        inner = f"{items}, lead(ts, {max(number for _, number in rows_ahead)}) OVER ({over}) AS following"
        of_time = f"OVER ({over} RANGE BETWEEN CURRENT ROW AND CURRENT ROW)"
        is_there = f"bool_and(coalesce(following < (SELECT w FROM mark), false)) {of_time} AS is_there"
        duck = f"SELECT *, {is_there} FROM (SELECT {own}, {inner} FROM events{both}) z"
        passed = f"is_there AND {passed}"
    names = ", ".join(f"f{place}" for place in range(len(found)))
    duck = f"SELECT {own}, {names} FROM ({duck}) x WHERE {passed}"
    if chance.random() < 0.3:
        hive, duck = (
            f"SELECT f0, ts FROM ({hive}) y WHERE f0 IS NOT NULL",
            f"SELECT f0, ts FROM ({duck}) y WHERE f0 IS NOT NULL",
        )
    return hive, duck, bool(by_rows) and "PARTITION" in over
