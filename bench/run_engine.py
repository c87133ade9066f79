"""Run of a suite on one engine, in its own process: `-m bench.run_engine SUITE ENGINE SCALE RUNS QUERIES OUT OPTIONS`.

OUT is a folder: figures in figures.json, the answer of each query as an Arrow file. OPTIONS: EngineOptions as JSON.
"""

from __future__ import annotations

import json
import shutil
import statistics
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from bench.engines import BenchEngine, EngineOptions, make_engine
from bench.suites import SUITES, Suite


def main() -> None:
    suite_name, engine_name, scale, runs, wanted, out, options_json = sys.argv[1:]
    suite, folder = SUITES[suite_name], Path(out)
    data = suite.data(float(scale))
    options = EngineOptions(**json.loads(options_json))
    # Next to the data, which is on a disk with room; /tmp may have none.
    own = tempfile.mkdtemp(prefix=f"{engine_name}-", dir=options.folder)
    try:
        engine = make_engine(engine_name, replace(options, folder=own))
        figures = _run(suite, engine, data, int(runs), None if wanted == "all" else wanted, folder)
    finally:
        shutil.rmtree(own, ignore_errors=True)
    (folder / "figures.json").write_text(json.dumps(figures))


def _run(
    suite: Suite, engine: BenchEngine, data: Path, runs: int, wanted: str | None, folder: Path
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


def _measure(engine: BenchEngine, sql: str, runs: int, answer_path: Path) -> dict[str, object]:
    """Milliseconds of the first run, and of the warm ones after it."""
    times = []
    try:
        for _ in range(runs + 1):
            started = time.perf_counter()
            answer = engine.run(sql)
            times.append((time.perf_counter() - started) * 1000)
    except Exception as error:
        print(f"{sql[:60]}: {type(error).__name__}: {str(error)[:500]}", file=sys.stderr)
        return {"error": f"{type(error).__name__}: {str(error)[:300]}"}
    with pa.ipc.new_file(answer_path, answer.schema) as writer:
        writer.write_table(answer)
    median = statistics.median(times[1:])
    return {"first_ms": times[0], "warm_ms": times[1:], "median_ms": median, "rows": answer.num_rows}


if __name__ == "__main__":
    main()
