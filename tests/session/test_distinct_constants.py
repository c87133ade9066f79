"""DISTINCT aggregates with constants, when several tasks bring equal rows together."""

from __future__ import annotations

from pathlib import Path

import pytest

import sharkpy

SKETCH = "ds_kll_sketch(DISTINCT n, 8)"


@pytest.mark.variants(3)
@pytest.mark.parametrize(
    ("items", "wanted"),
    [
        (f"ds_kll_n({SKETCH})", (4,)),
        (f"ds_kll_quantile({SKETCH}, 0.0), ds_kll_n(ds_kll_sketch(DISTINCT n))", (0.0, 4)),
        (f"ds_kll_n({SKETCH} FILTER (WHERE n > 1)), count(DISTINCT n, 2), count(DISTINCT 1)", (2, 4, 1)),
    ],
)
def test_constants_stay_constants(tmp_path: Path, items: str, wanted: tuple[object, ...]) -> None:
    conf = {"shark.test.skew": True, "shark.placement.driver": False}
    with sharkpy.connect("local[2]", tmp_path / "w", **conf) as context:
        context.sql("CREATE TABLE numbers (n INT)")
        for number in range(3):
            context.sql(f"INSERT INTO numbers VALUES ({number}), ({number + 1})")
        assert context.sql(f"SELECT {items} FROM numbers").fetchall() == [wanted]
