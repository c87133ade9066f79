"""Malformed rows are counted once each, whichever reader has met them and however often."""

from __future__ import annotations

from pathlib import Path

import pytest

from sharkpy.sources.formats import source
from sharkpy.sources.layout import list_data_files
from sharkpy.sources.malformed_rows import COUNTED, SKIPPED, validated_splits
from sharkpy.sources.source import ReadMetrics
from sharkpy.sources.split_rows import read_split
from sharkpy.values.type_parser import parse_type
from sharkpy.values.types import Field, Schema

SCHEMA = Schema(
    tuple(Field(name, parse_type(text)) for name, text in (("n", "int"), ("t", "timestamp"), ("s", "string")))
)
GOOD = {"json": '{{"n": {}, "t": "2020-01-01 00:00:00", "s": "x"}}', "text": "{}\x012020-01-01 00:00:00\x01x"}
BAD = {
    "json": ["no object", '{"n": "x", "t": "y", "s": "z"}', " x", '{"n": [1]}', '{"n": 1, "t": "2020-13-01"}'],
    "text": ["1", "x\x01y\x01z", "", "1.x\x012020-01-01\x01s", "1\x012020-13-01\x01s"],
}
FINE = {"json": ['{"n": null}', '{"n": ""}', "{}"], "text": ["\\N\x01\\N\x01\\N", "\x01\x01"]}


def read(path: Path, form: str, how: str, names: tuple[str, ...]) -> tuple[list[tuple[object, ...]], ReadMetrics]:
    metrics, rows = ReadMetrics(), list[tuple[object, ...]]()
    splits = source(form).splits(list_data_files(str(path)), SCHEMA, (), 1 << 20)
    for split in validated_splits(splits, how):
        for batch in read_split(split, SCHEMA, names, metrics):
            if not names:
                rows += [()] * batch.num_rows
            rows += list(zip(*(column.to_pylist() for column in batch.columns), strict=True)) if names else []
    return rows, metrics


@pytest.mark.variants(3)
@pytest.mark.parametrize("times", [1, 3000])
@pytest.mark.parametrize("form", GOOD)
def test_rows(tmp_path: Path, form: str, times: int) -> None:
    """Few rows are read by other means than many."""
    lines = [line for n in range(times) for line in (GOOD[form].format(n), *BAD[form], *FINE[form])]
    path = tmp_path / "rows"
    path.write_text("\n".join(lines) + "\n")
    rows, metrics = read(path, form, COUNTED, SCHEMA.names)
    assert (len(rows), metrics.malformed_rows) == (len(lines), times * len(BAD[form]))
    for names in (SCHEMA.names, ("s",), ()):
        rows, metrics = read(path, form, SKIPPED, names)
        assert metrics.malformed_rows == times * len(BAD[form])
        assert len(rows) == times * (1 + len(FINE[form]))
    assert [row[0] for row in read(path, form, SKIPPED, ("n",))[0] if row[0] is not None] == list(range(times))


def test_fields_that_are_not_read_do_not_count(tmp_path: Path) -> None:
    path = tmp_path / "rows"
    path.write_text('{"n": "x", "s": "a"}\nno object\n')
    assert read(path, "json", COUNTED, ("s",))[1].malformed_rows == 1
    assert read(path, "json", COUNTED, ("n", "s"))[1].malformed_rows == 2
