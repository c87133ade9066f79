"""The tour's stream: the departures of a day arrive hour by hour in a folder, and are counted as they arrive."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from sharkpy.execution.stages.profile import format_seconds

if TYPE_CHECKING:
    from sharkpy.session.shark_context import SharkContext

STATEMENTS = (
    """\
CREATE STREAM departures (hour INT, carrier STRING, flight INT, dest STRING, dep_delay INT)
STORED AS JSONFILE FROM FOLDER '{folder}'""",
    """\
CREATE CONTINUOUS TABLE departed TBLPROPERTIES ('shark.cache' = 'MEMORY')
AS SELECT d.hour, a.name AS airline, d.dest, d.dep_delay
FROM departures d JOIN airlines a ON d.carrier = a.carrier""",
)
_QUERY = """\
SELECT airline, count(*) AS flights, round(avg(dep_delay), 1) AS mean_delay
FROM departed GROUP BY airline ORDER BY flights DESC LIMIT 1"""
_DAY = "SELECT hour, carrier, flight, dest, dep_delay FROM flights WHERE month = 7 AND day = 4 ORDER BY hour, flight"
_SECONDS = 20.0


def show_stream(session: SharkContext, folder: Path, say: Callable[[str], None]) -> None:
    """Create the stream again in `folder`, and let the flights of a day arrive."""
    for kind, name in (("CONTINUOUS TABLE", "departed"), ("STREAM", "departures")):
        session.sql(f"DROP {kind} IF EXISTS {name}").close()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    say("\n-- A stream: the flights of the 4th of July come hour by hour; a table is kept up to date with them")
    for statement in STATEMENTS:
        text = statement.format(folder=folder)
        say(f"{text};")
        session.sql(text).close()
    say(f"\n-- and beside it, each hour, a query\n{_QUERY};")
    say(f"{'hour':<6}{'flights':>8}  {'visible after':<15}most flights")
    total = 0
    for hour, flights in _hours(session):
        total += len(flights)
        say(f"{hour:02}:00 {_line(session, folder, hour, flights, total)}")


def _hours(session: SharkContext) -> Iterator[tuple[int, list[dict[str, object]]]]:
    """Flights of the day, by hour."""
    rows = session.sql(_DAY).to_arrow().to_pylist()
    for hour in dict.fromkeys(row["hour"] for row in rows):
        yield hour, [row for row in rows if row["hour"] == hour]


def _line(session: SharkContext, folder: Path, hour: int, flights: list[dict[str, object]], total: int) -> str:
    """Let the flights of an hour arrive. Return a line with the hour, the result, and the time that it took."""
    hidden = folder / f".{hour:02}.json"
    hidden.write_text("".join(f"{json.dumps(row)}\n" for row in flights), encoding="utf-8")
    began = time.perf_counter()
    hidden.rename(folder / f"{hour:02}.json")
    while (seen := session.sql("SELECT count(*) FROM departed").fetchall()[0][0]) < total:
        if time.perf_counter() - began > _SECONDS:
            return f"{seen:>8,}  not all after {_SECONDS:g} s"
        time.sleep(0.001)
    seconds = time.perf_counter() - began
    ((airline, count, delay),) = session.sql(_QUERY).fetchall()
    return f"{seen:>8,}  {format_seconds(seconds):<15}{airline}: {count}, {delay} minutes late on average"
