"""How does a table follow its input? Two continuous tables: one reads files in a folder, one rows from a program.

    python examples/growing_tables.py

Sensors write files of JSON lines to a folder, and this program pushes alarms. Queries see whole epochs and each row
once.
"""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path

import sharkpy

STREAMS = (
    "CREATE STREAM readings (sensor STRING, degrees DOUBLE) STORED AS JSONFILE FROM FOLDER '{}'",
    "CREATE STREAM alarms (sensor STRING, message STRING) FROM PROGRAM",
)
TABLES = {
    "measured": "SELECT sensor, degrees, degrees > 80 AS is_hot FROM readings",
    "alarmed": "SELECT sensor, upper(message) AS message FROM alarms",
}
FILES = ([("a", 20.5), ("b", 81.0)], [("a", 21.5), ("b", 90.5)], [("a", 22.0), ("b", 70.0)])


def main(context: sharkpy.SharkContext) -> dict[str, int]:
    """Print the results. Return the number of readings, of hot readings and of alarms."""
    with tempfile.TemporaryDirectory() as folder:
        for statement in STREAMS:
            context.sql(statement.format(folder)).close()
        for name, query in TABLES.items():
            context.sql(f"CREATE CONTINUOUS TABLE {name} TBLPROPERTIES ('shark.cache' = 'MEMORY') AS {query}").close()
        with context.push("alarms") as out:
            for number, rows in enumerate(FILES):
                lines = [json.dumps({"sensor": sensor, "degrees": degrees}) for sensor, degrees in rows]
                Path(folder, f"{number}.json").write_text("\n".join(lines) + "\n")
                out.write([("b", f"look at file {number}")])  # on disk when it returns
                while context.sql("SELECT count(*) FROM measured").fetchall()[0][0] < 2 * (number + 1):
                    time.sleep(0.005)
                print(number, context.sql("SELECT sensor, max(degrees) FROM measured GROUP BY sensor").fetchall())
        while context.sql("SELECT count(*) FROM alarmed").fetchall()[0][0] < len(FILES):
            time.sleep(0.005)
        ((readings, hot),) = context.sql("SELECT count(*), sum(IF(is_hot, 1, 0)) FROM measured").fetchall()
        ((pushed,),) = context.sql("SELECT count(DISTINCT message) FROM alarmed").fetchall()
        for kind, names in (("CONTINUOUS TABLE", TABLES), ("STREAM", ("readings", "alarms"))):
            for name in names:
                context.sql(f"DROP {kind} {name}").close()
    return {"readings": readings, "hot": hot, "pushed": pushed}


if __name__ == "__main__":
    with sharkpy.connect() as session:
        main(session)
