"""Programs in `examples` run, print something, are short, and find the known facts of their data."""

from __future__ import annotations

import ast
import importlib.util
import re
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import sharkpy

EXAMPLES = Path(__file__).parents[2] / "examples"
pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sharkpy.SharkContext]:
    """Session for all examples: the flights are read once."""
    with sharkpy.connect("local[2]", tmp_path_factory.mktemp("examples")) as session:
        yield session


def _main(name: str) -> Callable[[sharkpy.SharkContext], Any]:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    main: Callable[[sharkpy.SharkContext], Any] = module.main
    return main


def _is_right_of_most(share: float) -> bool:
    return 0.88 < share < 1


def _are_four_kinds(clusters: list[tuple[Any, ...]]) -> bool:
    sizes = [size for size, *_ in clusters]
    return len(sizes) == 4 and sum(sizes) == 104 and min(sizes) >= 1


def _starts_in_new_york(ranks: list[tuple[Any, ...]]) -> bool:
    total = sum(rank for *_, rank in ranks)
    return {code for code, *_ in ranks[:3]} == {"EWR", "JFK", "LGA"} and abs(total - 1) < 1e-9 and ranks[3][0] == "ORD"


def _are_the_cancelled_flights(found: dict[str, int]) -> bool:
    return found["lines"] == 336_776 and found["errors"] == 8_255 and found["from JFK"] == 1_863


def _are_all_readings(found: dict[str, int]) -> bool:
    return found == {"readings": 6, "hot": 2, "pushed": 3}


KNOWN: dict[str, Callable[[Any], bool]] = {
    "airport_clusters": _are_four_kinds,
    "flight_delays": _is_right_of_most,
    "growing_tables": _are_all_readings,
    "log_mining": _are_the_cancelled_flights,
    "route_ranks": _starts_in_new_york,
    "tumours": _is_right_of_most,
}


ELSEWHERE = {"kafka_events"}
"""Programs that need a broker: `tests/streaming/test_kafka_example.py` runs them."""


@pytest.mark.variants(3)
@pytest.mark.parametrize("name", sorted(KNOWN))
def test_example(name: str, context: sharkpy.SharkContext, capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        assert KNOWN[name](_main(name)(context))
    assert capsys.readouterr().out


def _imported(path: Path) -> set[str]:
    """Packages that a program imports."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case ast.Import(names):
                found |= {name.name.split(".")[0] for name in names}
            case ast.ImportFrom(module=str() as module):
                found.add(module.split(".")[0])
    return found


@pytest.mark.parametrize("name", sorted(KNOWN))
def test_an_example_needs_no_more_than_the_package_itself(name: str) -> None:
    project = tomllib.loads((EXAMPLES.parent / "pyproject.toml").read_text())["project"]
    installed = {re.split(r"[^\w-]", requirement)[0] for requirement in project["dependencies"]}
    assert _imported(EXAMPLES / f"{name}.py") <= installed | sys.stdlib_module_names | {"sharkpy"}


def test_each_example_is_known_and_short() -> None:
    files = sorted(EXAMPLES.glob("*.py"))
    assert [path.stem for path in files] == sorted(KNOWN | dict.fromkeys(ELSEWHERE))
    for path in files:
        assert len(path.read_text().splitlines()) < 60
