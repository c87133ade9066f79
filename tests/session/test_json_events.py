"""Nested JSON events without a schema, a file and a document: answers are DuckDB's."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb

import sharkpy
from bench.files.event_data import queries, write_events
from bench.files.scans import check_equal


def test_answers_are_duckdb_s(tmp_path: Path) -> None:
    path, document = tmp_path / "events.jsonl", tmp_path / "events.json"
    write_events(path, 1_500)
    document.write_text(json.dumps([json.loads(line) for line in path.read_text().splitlines()], indent=1))
    with duckdb.connect(config={"threads": 1}) as connection:
        texts = queries(f"read_json('{path}')", 1)
        expected = {name: connection.sql(text).to_arrow_table().to_pylist() for name, text in texts.items()}
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        for place in (path, document):
            texts = queries(f"'{place}'", 0)
            check_equal({name: context.sql(text).to_arrow().to_pylist() for name, text in texts.items()}, expected, "")
        # A column of texts has the documents' own, which from_json takes.
        columns = "did STRING, time_us BIGINT, kind STRING, commit STRING, account STRING"
        context.sql(f"CREATE EXTERNAL TABLE texts ({columns}) STORED AS JSONFILE LOCATION '{tmp_path}/in'").close()
        path.rename(tmp_path / "in" / "events.jsonl")
        text = """SELECT get_json_object(commit, '$.collection') AS event, count(*) AS n,
            sum(CAST(get_json_object(commit, '$.record.embed.images[0].size.h') AS DOUBLE)) AS heights
            FROM texts GROUP BY event ORDER BY n DESC, event"""
        found = context.sql(text).to_arrow().to_pylist()
        assert [{"event": row["event"], "n": row["n"]} for row in found] == expected["events"]
        assert sum(row["heights"] or 0 for row in found) > 0
        assert all(round(1.5 * 2 * (row["heights"] or 0)) % 1 == 0 for row in found)
