"""Interactive search of a log for what went wrong, with its errors cached in memory.

    python examples/log_mining.py

This is the example of the RDD paper (Zaharia et al., 2012). The log has a line for each flight of 2013: an ERROR if the
flight was cancelled, a WARN if it was late.
"""

from __future__ import annotations

import time
from operator import add

import sharkpy
from sharkpy.demo.flights_data import package_folder, read_csv

LOG = r"""
    SELECT concat_ws('\t',
        CASE WHEN dep_time IS NULL THEN 'ERROR' WHEN arr_delay > 60 THEN 'WARN' ELSE 'INFO' END,
        CAST(time_hour AS STRING), carrier, concat(origin, '-', dest),
        IF(dep_time IS NULL, 'cancelled', concat('delay ', coalesce(arr_delay, 0)))) AS line
    FROM flights
"""


def main(context: sharkpy.SharkContext) -> dict[str, int]:
    """Print the results. Return the number of lines of each kind."""
    if not context.sql("SHOW TABLES LIKE 'flights'").fetchall():
        context.save_as_table(read_csv(package_folder(), "flights"), "flights", cache=True)
    context.sql(f"CREATE OR REPLACE VIEW log AS {LOG}")

    lines = context.sql2rdd("SELECT line FROM log")
    errors = context.sql2rdd("SELECT line FROM log WHERE line LIKE 'ERROR%'").cache()
    begin = time.perf_counter()
    found = {"lines": lines.count(), "errors": errors.count()}
    print(f"{found['errors']:,} errors in {found['lines']:,} lines, {time.perf_counter() - begin:.2f} s")

    begin = time.perf_counter()
    found["from JFK"] = errors.filter(lambda row: "\tJFK-" in row.line).count()
    days = errors.map(lambda row: (row.line.split("\t")[1][:10], 1)).reduceByKey(add).collect()
    print(f"{found['from JFK']:,} of them at JFK; searched in {time.perf_counter() - begin:.2f} s. The worst days:")
    for day, count in sorted(days, key=lambda one: -one[1])[:3]:
        print(f"  {day} {count:4}")
    errors.unpersist()
    return found


if __name__ == "__main__":
    with sharkpy.connect() as session:
        main(session)
