"""Records of a topic into an answer that is kept up to date, by one engine: seconds until it was read.

python -m bench.streaming.kafka_kept engine address topic workload
"""

from __future__ import annotations

import sys

from bench.streaming.engines import Answer, print_answer, texts
from bench.streaming.kafka_engines import consumed
from bench.streaming.kept import kept_of_stream
from bench.streaming.workloads import ADVERTISERS, WORKLOADS

BARE = "a bare consumer"


def sharkpy_kept(address: str, topic: str, workload: str, folder: str) -> Answer:
    options = f"'bootstrap.servers' = '{address}', 'topic' = '{topic}'"
    return kept_of_stream(WORKLOADS[workload], f"STORED AS JSONFILE FROM KAFKA ({options})", folder)


def bare_consumer(address: str, topic: str, workload: str, folder: str) -> Answer:  # noqa: ARG001  it writes nothing
    """A program that reads and parses; the answer, of all rows at once, is not in its time."""
    import duckdb

    rows, seconds = consumed(address, topic)
    given = WORKLOADS[workload]
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE campaigns AS {ADVERTISERS}")
        connection.register("events", rows)
        row = connection.execute(f"SELECT {', '.join(given.checks)} FROM ({given.batch})").fetchone()
    return seconds, texts(row or ())


ENGINES = {"sharkpy": sharkpy_kept, BARE: bare_consumer}

if __name__ == "__main__":
    name, *place = sys.argv[1:]
    print_answer(lambda folder: ENGINES[name](place[0], place[1], place[2], folder))
