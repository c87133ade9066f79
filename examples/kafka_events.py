"""Which pages do visitors read now? A continuous table joins events of a Kafka topic with a table of pages.

    pip install "sharkpy[kafka]"
    python examples/kafka_events.py localhost:9092

The program creates its topic, and deletes the topic at the end.
"""

from __future__ import annotations

import json
import sys
import uuid

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

import sharkpy

EVENTS = 3000
STREAM = "CREATE STREAM visits (page INT, ms INT) FROM KAFKA ('bootstrap.servers' = '{}', 'topic' = '{}')"
TABLE = """
    CREATE CONTINUOUS TABLE read_pages TBLPROPERTIES ('shark.cache' = 'MEMORY') AS
    SELECT p.title, v.ms, v.__timestamp AS at FROM visits v JOIN pages p ON v.page = p.page WHERE v.ms > 10
"""
READ = "SELECT title, count(*) AS visits, round(avg(ms)) AS ms FROM read_pages GROUP BY title ORDER BY title"


def main(context: sharkpy.SharkContext, broker: str) -> list[tuple[object, ...]]:
    """Print the visits of each page while events arrive. Return the final visits."""
    admin, topic = AdminClient({"bootstrap.servers": broker}), f"visits-{uuid.uuid4().hex}"
    admin.create_topics([NewTopic(topic, 3, 1)])[topic].result(30)
    try:
        context.sql("CREATE TABLE pages AS SELECT 0 AS page, 'home' AS title UNION ALL SELECT 1, 'shop'").close()
        context.sql(STREAM.format(broker, topic)).close()
        context.sql(TABLE).close()
        producer = Producer({"bootstrap.servers": broker, "linger.ms": 5})
        for number in range(EVENTS):
            producer.produce(topic, json.dumps({"page": number % 3, "ms": number % 100}), key=str(number))
            if number % 1000 == 999:
                producer.flush(30)
                print(number + 1, "sent:", context.sql(READ).fetchall())
        context.sql("ALTER CONTINUOUS TABLE read_pages TRIGGER AVAILABLE NOW").close()
        context.sql("RESUME CONTINUOUS TABLE read_pages").close()  # waits until the backlog is read
        found = [tuple(row) for row in context.sql(READ).fetchall()]
        print("all:", found)
        return found
    finally:
        drops = ("CONTINUOUS TABLE IF EXISTS read_pages", "STREAM IF EXISTS visits", "TABLE IF EXISTS pages")
        for what in drops:
            context.sql(f"DROP {what}").close()
        admin.delete_topics([topic])[topic].result(30)


if __name__ == "__main__":
    with sharkpy.connect() as session:
        main(session, sys.argv[1])
