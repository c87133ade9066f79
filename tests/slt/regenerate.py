"""python -m tests.slt.regenerate [files]: fill in the expected rows from Spark SQL; read the diff afterwards.

Records that Spark does not run keep their rows. A query that DuckDB answers otherwise, or not at all, is marked `skipif
duckdb`.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from tests.slt.engines import DuckEngine, Engine, SparkEngine
from tests.slt.records import ROOT, Record, load, parse
from tests.slt.rows import arrange, difference, text_rows, type_letters


def regenerate(path: Path) -> list[str]:
    """Rewrite the file; returns the statements that Spark did not accept."""
    problems: list[str] = []
    spark = SparkEngine()
    records = _visit(path, spark, lambda record: _fill(record, spark, path, problems))
    duck = DuckEngine()
    path.write_text("\n\n".join(record.text() for record in records) + "\n", encoding="utf-8")
    records = _visit(path, duck, lambda record: _mark(record, duck))
    path.write_text("\n\n".join(record.text() for record in records) + "\n", encoding="utf-8")
    return problems


def _visit(path: Path, engine: Engine, visit: object) -> list[Record]:
    engine.open()
    records = []
    try:
        for record in parse(path):
            if record.kind == "include":
                for inner in load(ROOT / record.argument):
                    if inner.runs_on(engine.name):
                        engine.run(inner.sql)
            records.append(visit(record))  # type: ignore[operator]
    finally:
        engine.close()
    return records


def _fill(record: Record, spark: Engine, path: Path, problems: list[str]) -> Record:
    if record.kind not in ("ok", "error", "query") or not record.runs_on("spark"):
        return record
    try:
        table = spark.run(record.sql)
    except Exception as error:
        if record.kind != "error":
            problems.append(f"{path.name}:{record.line}: {str(error).splitlines()[0][:200]}\n   {record.sql}")
        return record
    if record.kind == "error":
        problems.append(f"{path.name}:{record.line}: Spark accepts\n   {record.sql}")
    if record.kind != "query":
        return record
    rows = arrange(text_rows(table), record.sort)
    return replace(record, argument=type_letters(table.schema), expected=tuple("\t".join(row) for row in rows))


def _mark(record: Record, duck: Engine) -> Record:
    if record.kind not in ("ok", "error", "query") or not record.runs_on("duckdb"):
        return record
    try:
        table = duck.run(record.sql)
    except Exception:
        if record.kind == "error":
            return record
        return replace(record, conditions=(*record.conditions, "skipif duckdb not in its dialect"))
    expected = arrange([tuple(line.split("\t")) for line in record.expected], record.sort)
    is_same = record.kind == "ok" or (
        record.kind == "query" and difference(arrange(text_rows(table), record.sort), expected) is None
    )
    return record if is_same else replace(record, conditions=(*record.conditions, "skipif duckdb other semantics"))


def main() -> None:
    paths = [Path(name).resolve() for name in sys.argv[1:]] or sorted(ROOT.rglob("*.slt"))
    for path in paths:
        if path.parent.name != "shared":
            for problem in regenerate(path):
                print(problem)


if __name__ == "__main__":
    main()
