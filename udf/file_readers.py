"""Manual pages of the table functions that read files; the parser treats their calls as tables."""

from __future__ import annotations

from sharkpy.udf.special_forms import SpecialForm

_KINDS = {"csv": "CSV", "json": "JSON", "ndjson": "JSON, an object a line,", "parquet": "Parquet", "orc": "ORC"}
_KINDS |= {"avro": "Avro"}


def _reader(name: str, kind: str, option: str = "") -> SpecialForm:
    given = f", {option}" if option else ""
    return SpecialForm(
        name,
        usage=f"{name}(path[, option = value, …]), {name}([path, …][, option = value, …])",
        doc=f"in FROM, the rows of {_KINDS[kind]} files at a path, a pattern of paths or a folder",
        example=f"* FROM {name}('people.{kind}'{given})",
        answer="1\tAnn",
    )


FILE_READERS = (
    _reader("read_csv", "csv", "types = {'id': 'BIGINT'}"),
    _reader("read_csv_auto", "csv", "header = true"),
    _reader("read_json", "json", "columns = {'id': 'INT', 'name': 'STRING'}"),
    _reader("read_json_auto", "json"),
    _reader("read_ndjson", "ndjson"),
    _reader("read_ndjson_auto", "ndjson"),
    _reader("read_parquet", "parquet"),
    _reader("parquet_scan", "parquet"),
    _reader("read_orc", "orc"),
    _reader("read_avro", "avro"),
)
