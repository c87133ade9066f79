"""Which airports matter most to travellers from New York? PageRank over the routes.

    python examples/route_ranks.py

Every route counts in both directions, weighted by its number of flights.
"""

from __future__ import annotations

import sharkpy
from sharkpy.demo.flights_data import package_folder, read_csv

ROUTES = """
    SELECT origin, dest, count(*) AS flights FROM flights GROUP BY origin, dest
    UNION ALL
    SELECT dest, origin, count(*) AS flights FROM flights GROUP BY origin, dest
"""


def main(context: sharkpy.SharkContext) -> list[tuple[object, ...]]:
    """Print the ten airports with the highest ranks. Return all airports as (code, name, rank)."""
    for name in ("flights", "airports"):
        if not context.sql(f"SHOW TABLES LIKE '{name}'").fetchall():
            context.save_as_table(read_csv(package_folder(), name), name, cache=True)

    context.sql("DROP TABLE IF EXISTS airport_ranks")
    context.sql(f"GENERATE PageRank(({ROUTES}), weight => 'flights', tol => 1e-10) AS TABLE airport_ranks")
    ranks = context.sql("""
        SELECT r.vertex, a.name, r.rank
        FROM airport_ranks r LEFT JOIN airports a ON a.faa = r.vertex
        ORDER BY r.rank DESC
    """).fetchall()
    for code, name, rank in ranks[:10]:
        print(f"{code} {rank:.4f} {name}")
    return ranks


if __name__ == "__main__":
    with sharkpy.connect() as session:
        main(session)
