"""Random joins of streams whose times are bounded, in HiveQL and for DuckDB."""

from __future__ import annotations

import random

_BOUNDS = (
    ("o.ts BETWEEN e.ts AND e.ts + INTERVAL 4 SECONDS", 0, 4),
    ("o.ts >= e.ts - INTERVAL 3 SECONDS AND o.ts < e.ts + INTERVAL 2 SECONDS", -3, 2),
    ("e.ts <= o.ts AND o.ts - INTERVAL 5 SECONDS <= e.ts", 0, 5),
    ("o.ts = e.ts", 0, 0),
)
_CONDITIONS = ("e.k = o.k", "e.b = o.b AND e.v <= o.v", "e.id <> o.id")
_HALF = ("LEFT SEMI", "LEFT ANTI")


def met(least: int, most: int, ahead: int) -> str:
    """Condition for DuckDB that the rows of a pair may match. The row of the earlier epoch was still in the state in
    the later epoch, and the later row came when a match was still possible. The watermark of the second stream is
    `ahead` seconds after the watermark of the first.
    """
    of_left = "greatest(e.before, o.before)"
    of_right = f"{of_left} + INTERVAL ({ahead}) SECOND"
    least_of_both = f"least({of_left}, {of_right})"
    left = f"e.ts + INTERVAL ({most}) SECOND >= CASE WHEN e.epoch < o.epoch THEN {of_right} ELSE {least_of_both} END"
    right = f"o.ts - INTERVAL ({least}) SECOND >= CASE WHEN o.epoch < e.epoch THEN {of_left} ELSE {least_of_both} END"
    return f"({of_left} IS NULL OR ({left} AND {right}))"


def join(chance: random.Random, other: str, ahead: int) -> tuple[str, str]:
    """A join of the stream with `other`, and for DuckDB that of the pairs that were `met`."""
    (bound, least, most), condition = chance.choice(_BOUNDS), chance.choice(_CONDITIONS)
    right = chance.choice(("{}", "(SELECT * FROM {} WHERE v > 0)"))
    both = f"FROM events e JOIN {right} o ON {condition} AND {bound}"
    of_stream, of_table = both.format(other), f"{both.format('events')} AND {met(least, most, ahead)}"
    if chance.random() < 0.5:
        columns = "SELECT e.k AS k, e.v AS v, o.id AS other, o.ts AS ts"
        return f"{columns} {of_stream}", f"{columns} {of_table}"
    begin = "time_bucket(INTERVAL 7 SECOND, e.ts, TIMESTAMP '1970-01-01 00:00:00')"
    counts = "count(*) AS n, sum(o.v) AS s"
    return (
        f"SELECT window.start AS begin_at, {counts} {of_stream} GROUP BY window(e.ts, '7 seconds')",
        f"SELECT {begin} AS begin_at, {counts} {of_table} GROUP BY ALL",
    )


def outer_join(chance: random.Random, other: str, ahead: int) -> tuple[str, str, str]:
    """Return what `join` does, and the clause EMIT. With APPEND, a row without a match appears when no match may come
    in time.
    """
    (bound, least, most), condition = chance.choice(_BOUNDS), chance.choice(_CONDITIONS)
    where, kind = chance.choice(("", " WHERE v > 0")), chance.choice(("LEFT", "RIGHT", "FULL", *_HALF))
    emit = chance.choice(("", "EMIT APPEND"))
    of_pair = ("e.id", "e.ts") if kind in _HALF else ("o.v", "o.ts")
    items = "e.k AS k, e.v AS v, {} AS w, {} AS ts".format(*of_pair)
    hive = f"SELECT {items} FROM events e {kind} JOIN (SELECT * FROM {other}{where}) o ON {condition} AND {bound}"
    parts = [] if kind in _HALF else ["SELECT k, v, w, ts FROM pairs"]
    over = "x.ts IS NULL OR x.ts + INTERVAL ({}) SECOND < (SELECT w FROM mark)"
    if kind == "LEFT SEMI":
        parts.append("SELECT x.k, x.v, x.id, x.ts FROM e x WHERE x.rid IN (SELECT l FROM pairs)")
    of_left = "x.k, x.v, x.id, x.ts" if kind in _HALF else "x.k, x.v, NULL, NULL"
    for kinds, relation, key, values, reach in (
        (("LEFT", "FULL", "LEFT ANTI"), "e", "l", of_left, most - ahead),
        (("RIGHT", "FULL"), "o", "r", "NULL, NULL, x.v, x.ts", -least),
    ):
        if kind in kinds:
            given = f"(SELECT w FROM mark) IS NOT NULL AND ({over.format(reach)})" if emit else "true"
            missing = f"x.rid NOT IN (SELECT {key} FROM pairs)"
            parts.append(f"SELECT {values} FROM {relation} x WHERE {missing} AND ({given})")
    duck = (
        f"WITH e AS (SELECT *, rowid AS rid FROM events), o AS (SELECT *, rowid AS rid FROM events{where}), "
        f"pairs AS (SELECT e.rid AS l, o.rid AS r, {items} FROM e JOIN o ON {condition} AND {bound} "
        f"AND {met(least, most, ahead)}) {' UNION ALL '.join(parts)}"
    )
    return hive, duck, emit
