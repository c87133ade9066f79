"""Run of a suite on one engine, in its own process: `-m bench.run_engine SUITE ENGINE SCALE RUNS NEW QUERIES OUT
OPTIONS`.

OUT is a folder: figures in figures.json, the answer of each query as an Arrow file. NEW is the number of new texts of
each query. OPTIONS: EngineOptions as JSON.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from bench.compare import difference
from bench.cpu_time import cpu_seconds
from bench.engines import BenchEngine, EngineOptions, make_engine
from bench.new_text import new_text
from bench.suites import SUITES, Suite


def main() -> None:
    suite_name, engine_name, scale, runs, new_texts, wanted, out, options_json = sys.argv[1:]
    suite, folder = SUITES[suite_name], Path(out)
    data = suite.data(float(scale))
    options = EngineOptions(**json.loads(options_json))
    # Next to the data, which is on a disk with room; /tmp may have none.
    own = tempfile.mkdtemp(prefix=f"{engine_name}-", dir=options.folder)
    try:
        engine = make_engine(engine_name, replace(options, folder=own))
        figures = _run(
            suite, engine, data, None if wanted == "all" else wanted, Runs(int(runs), int(new_texts)), folder
        )
    finally:
        shutil.rmtree(own, ignore_errors=True)
    (folder / "figures.json").write_text(json.dumps(figures))


@dataclass(frozen=True, slots=True)
class Runs:
    """Runs of each query, after the first one: `warm` ones of its text, and one of each of `new` texts."""

    warm: int
    new: int


def _run(
    suite: Suite, engine: BenchEngine, data: Path, wanted: str | None, runs: Runs, folder: Path
) -> dict[str, object]:
    started = time.perf_counter()
    engine.start()
    figures: dict[str, object] = {"start_s": time.perf_counter() - started, "versions": engine.versions()}
    loads, rows = {}, {}
    for table in suite.tables:
        started = time.perf_counter()
        engine.load(table, data / table)
        loads[table] = time.perf_counter() - started
        rows[table] = sum(pq.read_metadata(path).num_rows for path in (data / table).glob("*.parquet"))
    figures |= {"load_s": loads, "rows": rows, "bytes": engine.table_bytes()}
    queries = suite.queries(wanted)
    figures["queries"] = {name: _measure(engine, sql, runs, folder / f"{name}.arrow") for name, sql in queries.items()}
    engine.stop()
    return figures


def _measure(engine: BenchEngine, sql: str, runs: Runs, answer_path: Path) -> dict[str, object]:
    """Milliseconds of the first run, of the warm ones after it, and of new texts; CPU milliseconds of a warm run."""
    try:
        first, _ = _timed(engine, sql)
        cpu_before = cpu_seconds()
        warm, new = list[float](), list[float]()
        for _ in range(runs.warm):
            milliseconds, answer = _timed(engine, sql)
            warm.append(milliseconds)
        cpu = (cpu_seconds() - cpu_before) * 1000 / runs.warm
        for number in range(runs.new):
            milliseconds, same = _timed(engine, new_text(sql, 1001 + number))
            new.append(milliseconds)
            if what := difference(answer, same):
                raise ValueError(f"a new text has another answer: {what}")
    except Exception as error:
        print(f"{sql[:60]}: {type(error).__name__}: {str(error)[:500]}", file=sys.stderr)
        return {"error": f"{type(error).__name__}: {str(error)[:300]}"}
    with pa.ipc.new_file(answer_path, answer.schema) as writer:
        writer.write_table(answer)
    return {"first_ms": first, "warm_ms": warm, "cpu_ms": cpu, "new_ms": new, "rows": answer.num_rows}


def _timed(engine: BenchEngine, sql: str) -> tuple[float, pa.Table]:
    engine.translate(sql)
    started = time.perf_counter()
    answer = engine.run(sql)
    return (time.perf_counter() - started) * 1000, answer


if __name__ == "__main__":
    main()
