"""Data of unusual shapes: files of it queried, loaded into memory, queried there and written, with DuckDB's answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.shapes import columns, ends, pieces, values
from bench.shapes.shape import Shape, run

SHAPES = {shape.name: shape for module in (columns, pieces, values, ends) for shape in module.SHAPES}


@pytest.mark.parametrize("name", sorted(SHAPES.keys() - {"300 columns", "1000 columns"}))
def test_answers_at_a_small_size(name: str, tmp_path: Path) -> None:
    shape = SHAPES[name]
    assert len(list(run(shape, shape.small, tmp_path, 1))) >= 5


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_answers_at_the_whole_size(shape: Shape, tmp_path: Path) -> None:
    assert len(list(run(shape, shape.whole, tmp_path, 1))) >= 5
