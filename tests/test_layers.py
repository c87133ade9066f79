"""Structure of the package: rooms in data order, no circles but small ones, libraries only in the rooms that may use
them.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "sharkpy"

ROOMS = (
    *("base", "values", "columnar", "udf", "catalog", "plan", "optimizer", "sql", "sources", "physical"),
    *(
        "execution",
        "ml",
        "streaming",
        "explain",
        "session",
        "thrift",
        "web",
        "client",
        "dbapi",
        "sqlalchemy",
        "demo",
        "cli",
        "notebook",
    ),
    "errors",
)
"""Rooms in order: a room imports only from itself and from those before it."""
EXECUTION = ("tasks", "workers", "spark", "engine", "stages", "tables", "queries", "commands", "backup")
"""Folders inside `execution` in order, with the engine in its place; the same holds for them."""
PURE = ROOMS[: ROOMS.index("execution")]
"""Rooms up to the physical plan, which know nothing of Spark."""
MOST_ROOMS = 25
LARGEST_CIRCLE = 20
"""Limit on the files of a circle, reached by the binder of expressions, which calls itself through its parts."""


@dataclass(frozen=True, slots=True)
class Import:
    """Import of a module by a line of a file, with the module's full name; `name` is taken from it."""

    module: str
    line: int


def files() -> Iterator[Path]:
    """Source files at their real places: the links in the package show some of them twice."""
    for folder in (PACKAGE, ROOT / "columnar", ROOT / "optimizer", ROOT / "udf", ROOT / "thrift" / "server"):
        yield from sorted(path for path in folder.rglob("*.py") if not _is_below_link(path))


def _is_below_link(path: Path) -> bool:
    return any(parent.is_symlink() for parent in path.parents if parent.is_relative_to(PACKAGE))


def module_name(path: Path) -> str:
    if path.is_relative_to(PACKAGE):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
    elif path.is_relative_to(ROOT / "thrift"):
        parts = ("thrift", *path.relative_to(ROOT / "thrift" / "server").with_suffix("").parts)
    else:
        parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(("sharkpy", *(part for part in parts if part != "__init__")))


@cache
def imports() -> dict[str, tuple[Path, tuple[Import, ...]]]:
    """Imports of each module, including those for type checkers: each file is parsed once."""
    known = {module_name(path): path for path in files()}
    return {name: (path, tuple(_imports(path, known))) for name, path in known.items()}


def _imports(path: Path, known: dict[str, Path]) -> Iterator[Import]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (Import(one.name, node.lineno) for one in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}:{node.lineno}: a relative import"
            names = [f"{node.module}.{one.name}" for one in node.names]
            yield from (Import(name if name in known else node.module or "", node.lineno) for name in names)


def room_of(module: str) -> str | None:
    parts = module.split(".")
    return parts[1] if parts[0] == "sharkpy" and len(parts) > 1 else None


def violations(order: tuple[str, ...], depth: int, below: str) -> Iterator[str]:
    """Imports against `order`, the names at `depth` of modules below `below`: from one of them by an earlier one."""
    for module, (path, found) in imports().items():
        part = _part(module, depth, below)
        for one in found:
            other = _part(one.module, depth, below)
            if part in order and other in order and order.index(other) > order.index(part):
                yield f"{path.relative_to(ROOT)}:{one.line}: {part} imports {one.module}"


def _part(module: str, depth: int, below: str) -> str:
    parts = module.split(".")
    return parts[depth] if module.startswith(f"{below}.") and len(parts) > depth else ""


def circles(graph: dict[str, set[str]]) -> Iterator[set[str]]:
    """Sets of modules that import each other, perhaps through other modules (Tarjan's algorithm)."""
    numbers: dict[str, int] = {}
    lowest: dict[str, int] = {}
    path: list[str] = []
    for root, first in graph.items():
        if root in numbers:
            continue
        waiting = [(root, iter(sorted(first)))]
        numbers[root] = lowest[root] = len(numbers)
        path.append(root)
        while waiting:
            module, rest = waiting[-1]
            for other in rest:
                if other not in numbers:
                    numbers[other] = lowest[other] = len(numbers)
                    path.append(other)
                    waiting.append((other, iter(sorted(graph[other]))))
                    break
                if other in path:
                    lowest[module] = min(lowest[module], numbers[other])
            else:
                waiting.pop()
                if waiting:
                    above = waiting[-1][0]
                    lowest[above] = min(lowest[above], lowest[module])
                if lowest[module] == numbers[module]:
                    place = path.index(module)
                    yield set(path[place:])
                    del path[place:]


def test_each_room_has_its_place() -> None:
    named = {entry.stem for entry in PACKAGE.iterdir() if entry.is_dir() or entry.suffix == ".py"}
    assert named - {"__init__", "__main__", "__pycache__"} == set(ROOMS)
    assert len(ROOMS) <= MOST_ROOMS
    table = (ROOT / "ARCHITECTURE.md").read_text().partition("## The rooms")[2].partition("\n## ")[0]
    places = []
    for room in ROOMS[:-1]:
        assert ast.get_docstring(ast.parse((PACKAGE / room / "__init__.py").read_text())), f"{room} says nothing"
        found = re.search(rf"^\| .*?[`/{{,]{room}[/,}}`]", table, re.MULTILINE)
        assert found is not None, f"{room} is not in ARCHITECTURE's table of rooms"
        places.append(found.end())
    assert places == sorted(places), "ARCHITECTURE's table of rooms has another order"


def test_imports_go_up() -> None:
    assert list(violations(ROOMS, 1, "sharkpy")) == []
    assert list(violations(EXECUTION, 2, "sharkpy.execution")) == []


def test_no_large_circles() -> None:
    graph = {module: {one.module for one in found} for module, (_, found) in imports().items()}
    graph = {module: {other for other in found if other in graph} for module, found in graph.items()}
    assert [sorted(one) for one in circles(graph) if len(one) > LARGEST_CIRCLE] == []


def test_libraries_where_they_belong() -> None:
    for module, (path, found) in imports().items():
        for one in found:
            library, place = one.module.split(".")[0], f"{path.relative_to(ROOT)}:{one.line}"
            assert library not in ("pyspark", "py4j") or room_of(module) not in PURE, f"{place} imports {library}"
            assert library != "sqlglot" or room_of(module) == "sql", f"{place} imports sqlglot"


@pytest.mark.parametrize("heavy", [("pyspark", "numba", "pandas", "duckdb", "pyarrow")])
def test_package_import_is_cheap(heavy: tuple[str, ...]) -> None:
    program = f"import sys, sharkpy; print([name for name in {heavy} if name in sys.modules])"
    answer = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"
