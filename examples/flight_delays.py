"""Which flights arrive late? SQL selects the rows, Python fits a model, SQL predicts with it.

    python examples/flight_delays.py

The data is the flights from New York in 2013. The model is fitted on the first nine months and tested on the rest.
"""

from __future__ import annotations

import sharkpy
from sharkpy.demo.flights_data import package_folder, read_csv
from sharkpy.ml import LogisticRegression

FEATURES = ["departure_delay", "distance", "hour", "minutes_planned"]
FLIGHTS = """
    SELECT carrier, month, dep_delay / 60 AS departure_delay, distance / 1000 AS distance, hour / 24 AS hour,
           ((sched_arr_time DIV 100 - sched_dep_time DIV 100 + 24) % 24) / 10 AS minutes_planned,
           IF(arr_delay > 15, 'late', 'in time') AS arrival
    FROM flights
    WHERE arr_delay IS NOT NULL
"""


def main(context: sharkpy.SharkContext) -> float:
    """Print the results. Return the share of flights in the last three months that are predicted right."""
    if not context.sql("SHOW TABLES LIKE 'flights'").fetchall():
        context.save_as_table(read_csv(package_folder(), "flights"), "flights", cache=True)

    past = context.sql2rdd(f"SELECT * FROM ({FLIGHTS}) f WHERE month <= 9").cache()
    model = LogisticRegression().fit(past, "arrival", features=FEATURES)
    print(f"fitted in {model.n_iter_[0]} iterations; what makes a flight late:")

    context.save_model(model, "arrivals", replace=True)
    for feature, coefficient in context.sql("SELECT feature, coefficient FROM arrivals").fetchall():
        print(f"  {feature:16} {coefficient:8.3f}")

    names = ", ".join(FEATURES)
    ((right, usual),) = context.sql(f"""
        SELECT avg(IF(predict('arrivals', {names}) = arrival, 1, 0)), avg(IF(arrival = 'in time', 1, 0))
        FROM ({FLIGHTS}) f WHERE month > 9
    """).fetchall()
    print(f"right about {right:.1%} of the flights since October; {usual:.1%} were in time")
    return float(right)


if __name__ == "__main__":
    with sharkpy.connect() as session:
        main(session)
