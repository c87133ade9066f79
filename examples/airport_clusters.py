"""Which airports are alike? Clusters of airports by traffic, distance and delays, found in SQL.

    python examples/airport_clusters.py

GENERATE runs k-means on a query. The result is a table, and so is the model.
"""

from __future__ import annotations

import sharkpy
from sharkpy.demo.flights_data import package_folder, read_csv

TRAFFIC = """
    SELECT dest, ln(count(*)) AS traffic, avg(distance) / 1000 AS distance, avg(IF(arr_delay > 15, 1, 0)) * 10 AS late
    FROM flights GROUP BY dest HAVING count(arr_delay) > 0
"""


def main(context: sharkpy.SharkContext) -> list[tuple[object, ...]]:
    """Print the clusters. Return (number of airports, mean of the logarithms of flights, airports) for each cluster."""
    if not context.sql("SHOW TABLES LIKE 'flights'").fetchall():
        context.save_as_table(read_csv(package_folder(), "flights"), "flights", cache=True)

    context.sql("DROP TABLE IF EXISTS airports_by_cluster; DROP TABLE IF EXISTS kinds_of_airports")
    context.sql(f"""
        GENERATE KMeans(({TRAFFIC}), 4, features => array('traffic', 'distance', 'late'),
                        model => 'kinds_of_airports', random_state => 1)
        AS TABLE airports_by_cluster
    """)
    clusters = context.sql("""
        SELECT count(*), avg(traffic), concat_ws(' ', sort_array(collect_list(dest)))
        FROM airports_by_cluster GROUP BY cluster ORDER BY 2 DESC
    """).fetchall()
    for size, traffic, airports in clusters:
        print(f"{size:3} airports, about {2.718281828**traffic:7,.0f} flights each: {airports[:60]}")

    ((alike,),) = context.sql("""
        SELECT concat_ws(' ', sort_array(collect_list(a.dest)))
        FROM airports_by_cluster a JOIN airports_by_cluster b ON a.cluster = b.cluster
        WHERE b.dest = 'HNL'
    """).fetchall()
    print(f"like Honolulu: {alike}")
    return clusters


if __name__ == "__main__":
    with sharkpy.connect() as session:
        main(session)
