"""How measurements are run: each by itself, so that one which fails takes no figures of the others."""

from __future__ import annotations

import importlib
import json
import signal
from pathlib import Path
from typing import Any

import pytest

from bench import measurements
from bench.__main__ import MEASURED
from bench.figure import Figure

FIGURE = Figure("rows", "1", "1", met=True)


@pytest.mark.parametrize("package", MEASURED)
def test_modules_of_packages(package: str) -> None:
    for name in importlib.import_module(f"bench.{package}").NAMES:
        assert callable(importlib.import_module(f"bench.{package}.{name}").measure)


def test_one_that_fails_leaves_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    measure = measurements._measure

    def some(package: str, name: str, *others: Any) -> list[Figure]:
        return [FIGURE] if name == "tpch" else measure(package, name, *others)

    monkeypatch.setattr(measurements, "_measure", some)
    assert measurements.run_measurements("lake", 1, "no_module,tpch") == {"no_module": [], "tpch": [FIGURE]}


@pytest.mark.parametrize(
    ("scale", "other", "expected"),
    [(1.0, (), (3,)), (0.5, (), (3, 0.5)), (1.0, ("/other",), (3, 1.0, Path("/other")))],
)
def test_what_a_measurement_is_given(
    scale: float,
    other: tuple[str, ...],
    expected: tuple[Any, ...],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    given = list[tuple[Any, ...]]()

    def measure(*arguments: Any) -> list[Figure]:
        given.append(arguments)
        return [FIGURE]

    monkeypatch.setattr(importlib.import_module("bench.lake.loading"), "measure", measure)
    monkeypatch.setattr(measurements, "CACHE", tmp_path / "bench")
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    measurements.main("lake", "loading", 3, scale, *other)
    assert given == [expected]
    assert json.loads(capsys.readouterr().out)[0]["what"] == "rows"
    assert (tmp_path / "bench").is_dir()
