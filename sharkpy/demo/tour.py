"""Statements of the tour, in order."""

from __future__ import annotations

from sharkpy.base import settings
from sharkpy.base.records import dataclass


@dataclass(frozen=True, slots=True)
class Step:
    """Step of the tour: a remark on what to look at, and the HiveQL that shows it."""

    title: str
    sql: str


STEPS = (
    Step(
        "A filter: the longest delays out of JFK",
        """\
SELECT month, day, carrier, flight, dest, dep_delay
FROM flights
WHERE origin = 'JFK' AND dep_delay > 600
ORDER BY dep_delay DESC""",
    ),
    Step(
        "A group-by: airports of departure",
        """\
SELECT origin, count(*) AS flights, round(avg(dep_delay), 1) AS mean_delay,
       sum(if(dep_time IS NULL, 1, 0)) AS cancelled
FROM flights GROUP BY origin ORDER BY origin""",
    ),
    Step(
        "Top-N: the planes that flew most",
        """\
SELECT tailnum, count(*) AS flights, sum(distance) AS miles
FROM flights WHERE tailnum IS NOT NULL
GROUP BY tailnum ORDER BY miles DESC LIMIT 5""",
    ),
    Step(
        "A pruned query: one day; statistics leave few blocks to read",
        """\
SELECT carrier, count(*) AS flights, max(arr_delay) AS worst
FROM flights WHERE month = 7 AND day = 4
GROUP BY carrier ORDER BY flights DESC LIMIT 5""",
    ),
    Step(
        "Answered from statistics alone",
        "SELECT count(*) AS flights, min(distance) AS shortest, max(distance) AS longest FROM flights",
    ),
    Step(
        "A join of four tables: who flies what to where",
        """\
SELECT a.name AS airline, p.manufacturer, d.name AS destination, count(*) AS flights
FROM flights f
JOIN airlines a ON f.carrier = a.carrier
JOIN planes p ON f.tailnum = p.tailnum
JOIN airports d ON f.dest = d.faa
WHERE p.seats > 250
GROUP BY a.name, p.manufacturer, d.name
ORDER BY flights DESC, destination LIMIT 6""",
    ),
    Step(
        "Weather: delays by visibility",
        """\
SELECT CASE WHEN w.visib < 2 THEN 'fog' WHEN w.visib < 8 THEN 'haze' ELSE 'clear' END AS sky,
       count(*) AS flights, round(avg(f.dep_delay), 1) AS mean_delay, round(avg(w.wind_speed), 1) AS wind
FROM flights f JOIN weather w ON f.origin = w.origin AND f.time_hour = w.time_hour
GROUP BY CASE WHEN w.visib < 2 THEN 'fog' WHEN w.visib < 8 THEN 'haze' ELSE 'clear' END
ORDER BY mean_delay DESC""",
    ),
    Step("CREATE TABLE AS SELECT, first what was there", "DROP TABLE IF EXISTS routes_cached"),
    Step(
        "its name ends in _cached: it stays in memory",
        """\
CREATE TABLE routes_cached AS
SELECT origin, dest, count(*) AS flights, avg(arr_delay) AS mean_delay
FROM flights GROUP BY origin, dest""",
    ),
    Step(
        "A window over it: the busiest three destinations of each airport",
        """\
SELECT origin, place, dest, flights
FROM (SELECT origin, dest, flights, rank() OVER (PARTITION BY origin ORDER BY flights DESC) AS place
      FROM routes_cached) r
WHERE place <= 3 ORDER BY origin, place""",
    ),
    Step(
        "EXPLAIN ANALYZE: the plan and what running it showed",
        """\
EXPLAIN ANALYZE SELECT dest, count(*) AS flights
FROM flights WHERE month = 12 AND air_time > 300 GROUP BY dest""",
    ),
)

RDD_SETTINGS = (
    (settings.DRIVER_PLACEMENT, "false"),
    (settings.SINGLE_TASK_ROWS, "0"),
    (settings.SINGLE_TASK_BYTES, "0"),
    (settings.REPLICATED_ROWS, "0"),
)
"""Settings for RDD stages: without them, one task would read tables of this size."""

RDD_STEPS = (
    Step(
        "The same engine as RDD tasks on Spark, which starts now: no stage in the driver, and several tasks a stage",
        ";\n".join(f"SET {setting.key}={value}" for setting, value in RDD_SETTINGS),
    ),
    Step(
        "A join and a group-by, as stages of tasks with exchanges between them",
        """\
SELECT a.name AS airline, count(*) AS flights, round(avg(f.arr_delay), 1) AS mean_delay
FROM flights f JOIN airlines a ON f.carrier = a.carrier
GROUP BY a.name ORDER BY flights DESC LIMIT 5""",
    ),
    Step(
        "Its stages and the decisions made between them",
        """\
EXPLAIN ANALYZE SELECT a.name, count(*) AS flights
FROM flights f JOIN airlines a ON f.carrier = a.carrier GROUP BY a.name""",
    ),
)
