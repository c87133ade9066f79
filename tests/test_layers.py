"""A folder imports only from those above it in the order of layers, and some libraries only where they belong."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "sharkpy"

LAYERS: tuple[tuple[str, ...], ...] = (
    ("base",),
    ("values",),
    ("columnar",),
    ("udf",),
    ("catalog",),
    ("plan",),
    ("optimizer",),
    ("sql",),
    ("sources",),
    ("physical",),
    ("execution",),
    ("ml",),
    ("explain",),
    ("session",),
    ("thrift",),
    ("cli", "client", "dbapi", "sqlalchemy", "notebook", "demo", "errors"),
)
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}

EXECUTION = ("tasks", "workers", "spark", "engine", "stages", "tables", "queries", "commands")
"""The folders inside `execution`, with the engine in its place among them."""

PURE = tuple(name for layer in LAYERS[:10] for name in layer)


def modules() -> list[Path]:
    return sorted(path for path in PACKAGE.glob("**/*.py") if "thrift" not in path.parts) + sorted(
        path for folder in ("columnar", "optimizer", "udf", "thrift") for path in (ROOT / folder).glob("**/*.py")
    )


def part_of(path: Path) -> str:
    relative = path.relative_to(PACKAGE) if path.is_relative_to(PACKAGE) else path.relative_to(ROOT)
    return relative.parts[0].removesuffix(".py")


def imported(path: Path, *, at_run_time: bool = True) -> Iterator[tuple[str, int]]:
    """Names of modules imported anywhere in a file, those for type checkers alone left out."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    skipped = {id(node) for branch in ast.walk(tree) if _is_type_checking(branch) for node in ast.walk(branch)}
    for node in ast.walk(tree):
        if at_run_time and id(node) in skipped:
            continue
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            if node.module == "sharkpy":
                yield from ((f"sharkpy.{alias.name}", node.lineno) for alias in node.names)
            else:
                yield node.module, node.lineno


def _is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_go_up(path: Path) -> None:
    part = part_of(path)
    if part == "__init__":
        return
    assert part in LEVEL, f"{part} has no place among the layers"
    for module, line in imported(path):
        names = module.split(".")
        if names[0] != "sharkpy" or len(names) == 1 or names[1] not in LEVEL:
            continue
        allowed = LEVEL[names[1]] <= LEVEL[part]
        assert allowed, f"{path.relative_to(ROOT)}:{line}: {part} imports {module}, which is below it"


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_go_up_inside_execution(path: Path) -> None:
    if part_of(path) != "execution":
        return
    part = path.relative_to(PACKAGE / "execution").parts[0].removesuffix(".py")
    if part not in EXECUTION:
        return
    for module, line in imported(path):
        names = module.split(".")
        if names[:2] == ["sharkpy", "execution"] and len(names) > 2 and names[2] in EXECUTION:
            allowed = EXECUTION.index(names[2]) <= EXECUTION.index(part)
            assert allowed, f"{path.relative_to(ROOT)}:{line}: {part} imports {module}, which is below it"


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_no_spark_where_plans_are_made(path: Path) -> None:
    if part_of(path) not in PURE:
        return
    for module, line in imported(path):
        assert module.split(".")[0] not in ("pyspark", "py4j"), f"{path.relative_to(ROOT)}:{line} imports {module}"


def test_package_import_is_cheap() -> None:
    import subprocess
    import sys

    heavy = ("pyspark", "numba", "pandas", "duckdb", "pyarrow")
    program = f"import sys, sharkpy; print([name for name in {heavy} if name in sys.modules])"
    answer = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"
