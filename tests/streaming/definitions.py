"""Random queries over a stream `events` and a table `names`, in HiveQL and for DuckDB: they mean the same in both.

`events`: id BIGINT, k STRING, v INT, d DECIMAL(10,2), b BOOLEAN, ts TIMESTAMP; `names`: k STRING, name STRING.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

_ORIGIN = "TIMESTAMP '1970-01-01 00:00:00'"
_KEYS = ("k", "b", "v % 3")
_CONDITIONS = ("v > 0", "b", "NOT b", "k <> 'a'", "v IS NOT NULL AND k IN ('a', 'c')", "d >= 1.5", "v < -40")
_AGGREGATES = (
    *((text, text) for text in ("count(*)", "count(v)", "sum(v)", "min(v)", "max(d)", "sum(d)", "min(k)", "max(ts)")),
    *((text, text) for text in ("count(DISTINCT k)", "sum(DISTINCT v)", "count(v) FILTER (WHERE b)", "bool_and(b)")),
    ("round(avg(v), 6)", "round(avg(v), 6)"),
    ("size(collect_set(v))", "count(DISTINCT v)"),
    ("sort_array(collect_list(v))", "coalesce(list_sort(list(v) FILTER (WHERE v IS NOT NULL)), [])"),
)
_OLD = "SELECT CAST(-ascii(k) AS BIGINT), k, 7, CAST(1.25 AS DECIMAL(10,2)), true, CAST(NULL AS TIMESTAMP) FROM names"
_SOURCES = (
    ("SELECT id, k, v, d, b, ts FROM events",) * 2,
    ("SELECT e.id, n.name AS k, e.v, e.d, e.b, e.ts FROM events e JOIN names n ON e.k = n.k",) * 2,
    ("SELECT e.id, n.name AS k, e.v, e.d, e.b, e.ts FROM events e LEFT JOIN names n ON e.k = n.k",) * 2,
    ("SELECT e.id, e.k, o.v, e.d, o.b, e.ts FROM events e JOIN events o ON e.id = o.id + 1",) * 2,
    ("SELECT e.id, e.k, o.v, e.d, o.b, o.ts FROM events e JOIN events o ON e.k = o.k AND e.v = o.v AND e.v > 3",) * 2,
    (
        "SELECT id, k, item AS v, d, b, ts FROM events LATERAL VIEW explode(array(v, id % 5)) x AS item",
        "SELECT id, k, item AS v, d, b, ts FROM events, unnest([v, id % 5]) x(item)",
    ),
    (f"SELECT id, k, v, d, b, ts FROM events UNION ALL {_OLD}",) * 2,
)
_OF_FIXED_LENGTH = ("tumbling", "sliding")
_PLAIN = 3
"""The first sources have no stream twice."""


@dataclass(frozen=True)
class Definition:
    hive: str
    duck: str


def definition(chance: random.Random) -> Definition:
    """A random query that a continuous table can keep up to date, WITH UNBOUNDED STATE."""
    kinds: Sequence[Callable[[random.Random], Definition]] = (
        _grouped,
        _grouped,
        _grouped,
        _above,
        _distinct,
        _first,
        _ranked,
        _united,
        _beside,
        _outer,
    )
    return chance.choice(kinds)(chance)


def windowed(chance: random.Random) -> Definition:
    """A random query of windows, or sessions, that a watermark closes. For DuckDB `events` has one more column,
    `before`: the watermark when a row came, if any. `mark` has the current watermark, as `w`.
    """
    source = _source(chance, plain=1.0)
    keys = chance.sample(_KEYS, chance.randrange(3))
    found = [("count(*)", "count(*)"), *chance.sample(_AGGREGATES, chance.randrange(4))]
    kind, given = chance.choice((*_OF_FIXED_LENGTH, "session")), source.duck.replace("ts FROM", "ts, before FROM")
    is_session = kind == "session"
    if is_session:
        given = f"(SELECT * FROM {given} WHERE before IS NULL OR ts >= before) i"
    window, bounds, rows = _window(chance, keys, given, (kind,))
    end = bounds[1].removesuffix(" AS end_at")
    columns = [f"{key} AS g{place}" for place, key in enumerate(keys)]
    name = window.split("(")[0]
    hive, duck = (
        ", ".join([*columns, *ends, *(f"{one[side]} AS a{place}" for place, one in enumerate(found))])
        for side, ends in enumerate(([f"{name}.start AS begin_at", f"{name}.end AS end_at"], bounds))
    )
    having = ["count(*) > 1"] if chance.random() < 0.2 else []
    of_duck = list(having)
    if is_session:
        of_duck.append(f"{end} < (SELECT w FROM mark)")
    else:
        in_time = f"{end} <= (SELECT w FROM mark) AND (before IS NULL OR {end} > before)"
        rows = f"(SELECT * FROM {rows} WHERE {in_time}) c"
    return Definition(
        f"SELECT {hive} FROM {source.hive} GROUP BY {', '.join([*keys, window])}{_having(having)}",
        f"SELECT {duck} FROM {rows} GROUP BY {', '.join([*keys, 'part'])}{_having(of_duck)}",
    )


def _having(terms: Sequence[str]) -> str:
    return f" HAVING {' AND '.join(terms)}" if terms else ""


def _source(chance: random.Random, *, plain: float = 0.6) -> Definition:
    """Rows of the stream, with that probability without reading it twice."""
    hive, duck = chance.choice(_SOURCES[:_PLAIN] if chance.random() < plain else _SOURCES)
    where = _where(chance)
    return Definition(f"(SELECT * FROM ({hive}) q{where}) s", f"(SELECT * FROM ({duck}) q{where}) s")


def _grouped(chance: random.Random, *, num_aggregates: int | None = None) -> Definition:
    """Columns `g0`, …; `begin_at` and `end_at`, of windows; `a0`, …: the first aggregate counts rows."""
    source = _source(chance)
    keys = chance.sample(_KEYS, chance.randrange(3))
    found = [("count(*)", "count(*)"), *chance.sample(_AGGREGATES, num_aggregates or chance.randrange(4))]
    named = [f"{key} AS g{place}" for place, key in enumerate(keys)]
    columns = [[f"{one[side]} AS a{place}" for place, one in enumerate(found)] for side in (0, 1)]
    window, bounds, rows = _window(chance, keys, source.duck)
    hive_bounds = ["window.start AS begin_at", "window.end AS end_at"] if bounds else []
    if "session" in window:
        hive_bounds = [one.replace("window", "session_window", 1) for one in hive_bounds]
    hive = f"SELECT {', '.join([*named, *hive_bounds, *columns[0]])} FROM {source.hive}"
    duck = f"SELECT {', '.join([*named, *bounds, *columns[1]])} FROM {rows}"
    groups = [*keys, *([window] if window else [])]
    duck_groups = [*keys, *(["part"] if window else [])]
    if groups:
        sets = _sets(chance, keys) if not window else ""
        hive += f" GROUP BY {', '.join(groups)}" + (f" GROUPING SETS ({sets})" if sets else "")
        duck += f" GROUP BY {f'GROUPING SETS ({sets})' if sets else ', '.join(duck_groups)}"
    having = " HAVING count(*) > 2" if chance.random() < 0.2 else ""
    return Definition(hive + having, duck + having)


def _sets(chance: random.Random, keys: Sequence[str]) -> str:
    """Some sets of the keys, or nothing."""
    if not keys or chance.random() < 0.7:
        return ""
    every = [tuple(key for key in keys if chance.random() < 0.5) for _ in range(3)]
    sets = dict.fromkeys([tuple(keys), *every])
    return ", ".join(f"({', '.join(one)})" for one in sets)


def _window(
    chance: random.Random, keys: Sequence[str], rows: str, kinds: Sequence[str] = ("", "", *_OF_FIXED_LENGTH, "session")
) -> tuple[str, list[str], str]:
    """A window of GROUP BY in HiveQL, or nothing; for DuckDB its bounds, and the rows with `part`, the window."""
    kind, length = chance.choice(kinds), chance.choice((3, 7, 20))
    timed = f"(SELECT * FROM {rows} WHERE ts IS NOT NULL)"
    if kind == "tumbling":
        part = f"(SELECT *, time_bucket(INTERVAL {length} SECOND, ts, {_ORIGIN}) AS part FROM {timed} t) w"
        return f"window(ts, '{length} seconds')", _bounds(length), part
    if kind == "sliding":
        slide = chance.choice((1, 2, 3))
        begin = f"time_bucket(INTERVAL {slide} SECOND, ts, {_ORIGIN}) - n * INTERVAL {slide} SECOND"
        each = f"(SELECT t.*, {begin} AS part FROM {timed} t, range({-(-length // slide)}) r(n))"
        rows = f"(SELECT * FROM {each} u WHERE part + INTERVAL {length} SECOND > ts) w"
        return f"window(ts, '{length} seconds', '{slide} seconds')", _bounds(length), rows
    if kind == "session":
        partition = f"PARTITION BY {', '.join(keys)} " if keys else ""
        over = f"OVER ({partition}ORDER BY ts)"
        late = f"coalesce(ts > lag(ts) {over} + INTERVAL {length} SECOND, true)"
        begun = f"(SELECT *, CAST({late} AS INTEGER) AS begins FROM {timed} t)"
        bounds = ["min(ts) AS begin_at", f"max(ts) + INTERVAL {length} SECOND AS end_at"]
        return (
            f"session_window(ts, '{length} seconds')",
            bounds,
            f"(SELECT *, sum(begins) {over} AS part FROM {begun} u) w",
        )
    return "", [], rows


def _bounds(length: int) -> list[str]:
    return ["part AS begin_at", f"part + INTERVAL {length} SECOND AS end_at"]


def _above(chance: random.Random) -> Definition:
    """Something over groups, which is computed when the table is read."""
    inner = _grouped(chance, num_aggregates=1)
    head, tail = chance.choice(
        (
            ("SELECT a0, count(*) AS n FROM (", ") x GROUP BY a0"),
            ("SELECT a0, rank() OVER (ORDER BY a0 DESC) AS place FROM (", ") x"),
            ("SELECT a0 FROM (", ") x ORDER BY a0 DESC LIMIT 3"),
            ("SELECT max(a0) AS high, count(*) AS n FROM (", ") x"),
        )
    )
    return Definition(f"{head}{inner.hive}{tail}", f"{head}{inner.duck}{tail}")


def _distinct(chance: random.Random) -> Definition:
    source, columns = _source(chance), ", ".join(chance.sample(("k", "b", "v", "d"), 2))
    return _both(f"SELECT DISTINCT {columns} FROM ", source, "")


def _first(chance: random.Random) -> Definition:
    order = chance.choice(("id DESC, k ASC NULLS FIRST, v ASC NULLS FIRST", "v DESC NULLS LAST, k DESC NULLS LAST, id"))
    return _both("SELECT k, v, id FROM ", _source(chance), f" ORDER BY {order} LIMIT {chance.choice((1, 5))}")


def _ranked(chance: random.Random) -> Definition:
    function = chance.choice(("row_number", "rank"))
    partition = chance.choice(("PARTITION BY k ", "PARTITION BY k, b ", ""))
    over = f"{function}() OVER ({partition}ORDER BY v DESC NULLS LAST, id) AS r"
    return _both(f"SELECT k, v, id, r FROM (SELECT k, b, v, id, {over} FROM ", _source(chance), ") x WHERE r <= 2")


def _united(chance: random.Random) -> Definition:
    one, other = (
        _both(f"SELECT {key}, count(*) AS n, CAST(sum(v) AS BIGINT) AS s FROM ", _source(chance), tail)
        for key, tail in (("k AS g", " GROUP BY k"), ("'all' AS g", ""))
    )
    return Definition(f"{one.hive} UNION ALL {other.hive}", f"{one.duck} UNION ALL {other.duck}")


def _beside(chance: random.Random) -> Definition:
    """Two aggregates, joined when the table is read."""
    one = _both("(SELECT k AS g, count(*) AS n FROM ", _source(chance), " GROUP BY k) x")
    other = _both("(SELECT k AS h, max(v) AS m FROM ", _source(chance), " GROUP BY k) y")
    kind = chance.choice(("JOIN", "LEFT JOIN", "FULL JOIN"))
    texts = (
        f"SELECT g, n, m FROM {left} {kind} {right} ON g = h"
        for left, right in zip(_texts(one), _texts(other), strict=True)
    )
    return Definition(*texts)


def _outer(chance: random.Random) -> Definition:
    """An outer, semi or anti join of streams, and perhaps groups over it."""
    left, right = (f"(SELECT * FROM events{_where(chance)}) {name}" for name in "xy")
    condition = chance.choice(("x.id = y.id + 1", "x.k = y.k AND x.v = y.v + 1", "x.b = y.b AND x.v > y.v + 6"))
    kind = chance.choice(("LEFT", "RIGHT", "FULL", "LEFT SEMI", "LEFT ANTI"))
    is_half = kind in ("LEFT SEMI", "LEFT ANTI")
    columns = "x.k AS k, x.v AS v" if is_half else "x.k AS k, x.v AS v, y.id AS other"
    head, tail = chance.choice((("", ""), ("SELECT k, count(*) AS n, sum(v) AS s FROM (", ") z GROUP BY k")))
    text = f"{head}SELECT {columns} FROM {left} {kind} JOIN {right} ON {condition}{tail}"
    return Definition(text, text.replace(f"{kind} JOIN", f"{kind.removeprefix('LEFT ')} JOIN") if is_half else text)


def _where(chance: random.Random) -> str:
    return f" WHERE {chance.choice(_CONDITIONS)}" if chance.random() < 0.4 else ""


def _both(head: str, source: Definition, tail: str) -> Definition:
    return Definition(f"{head}{source.hive}{tail}", f"{head}{source.duck}{tail}")


def _texts(one: Definition) -> tuple[str, str]:
    return one.hive, one.duck
