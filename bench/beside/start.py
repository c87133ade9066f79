"""From starting Python to `import sharkpy`, and to the end of `sharkpy -e 'SELECT 1'`."""

from __future__ import annotations

import tempfile
import time
from functools import partial
from pathlib import Path

from bench.beside.pairs import figure, in_turn, run
from bench.figure import Figure

_SHELL = ("-m", "sharkpy.cli.main", "-e", "SELECT 1", "--warehouse")
_LEAST_RUNS = 15


def measure(runs: int, scale: float, checkout: Path) -> list[Figure]:  # noqa: ARG001 - starting has no scale
    with tempfile.TemporaryDirectory(prefix="sharkpy-bench-start-") as folder:
        programs = {
            "`import sharkpy`, the whole process": ("-c", "import sharkpy"),
            "`sharkpy -e 'SELECT 1'`, the whole process": (*_SHELL, f"{folder}/{{}}"),
        }
        return [
            figure(what, in_turn(max(runs, _LEAST_RUNS), checkout, partial(_seconds, arguments)), "s")
            for what, arguments in programs.items()
        ]


def _seconds(arguments: tuple[str, ...], checkout: Path) -> float:
    # Each checkout has a warehouse of its own: it may have another format of the catalog.
    given = [one.format(checkout.name) for one in arguments]
    start = time.perf_counter()
    run(checkout, *given)
    return time.perf_counter() - start
