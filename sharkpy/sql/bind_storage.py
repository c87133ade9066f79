"""ROW FORMAT, STORED AS and USING: how a new table's files are read and written."""

from __future__ import annotations

from sharkpy.catalog.model import StorageFormat
from sharkpy.sql.token_reader import TokenReader

FORMATS = {
    "TEXTFILE": "text",
    "TEXT": "text",
    "CSV": "text",
    "PARQUET": "parquet",
    "ORC": "orc",
    "JSON": "json",
    "JSONFILE": "json",
}
_UNSUPPORTED_FORMATS = ("AVRO", "SEQUENCEFILE", "RCFILE", "INPUTFORMAT", "DELTA", "ICEBERG", "JDBC", "HIVE")
_SERDES = {
    "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe": "text",
    "org.apache.hive.hcatalog.data.JsonSerDe": "json",
    "org.apache.hadoop.hive.serde2.JsonSerDe": "json",
    "org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe": "parquet",
    "org.apache.hadoop.hive.ql.io.orc.OrcSerde": "orc",
}
_DELIMITERS = (
    (("FIELDS", "TERMINATED", "BY"), "field.delim"),
    (("ESCAPED", "BY"), "escape.delim"),
    (("COLLECTION", "ITEMS", "TERMINATED", "BY"), "collection.delim"),
    (("MAP", "KEYS", "TERMINATED", "BY"), "mapkey.delim"),
    (("LINES", "TERMINATED", "BY"), "line.delim"),
    (("NULL", "DEFINED", "AS"), "serialization.null.format"),
)


def row_format(reader: TokenReader) -> StorageFormat:
    """What follows ROW FORMAT."""
    if reader.match("SERDE"):
        return _serde(reader)
    reader.expect("DELIMITED")
    properties: dict[str, str] = {}
    while found := next(((words, key) for words, key in _DELIMITERS if reader.peek(*words)), None):
        words, key = found
        reader.match(*words)
        properties[key] = _delimiter(reader.string())
        if key == "field.delim":
            properties["serialization.format"] = properties[key]
    properties.pop("serialization.format", None)
    return StorageFormat("text", tuple(properties.items()))


def _delimiter(text: str) -> str:
    """A delimiter may be written as the number of its character: '9' is a digit, '009' or '124' a code."""
    return chr(int(text)) if len(text) > 1 and text.isdigit() and int(text) < 256 else text


def _serde(reader: TokenReader) -> StorageFormat:
    name = reader.string("the class of a SerDe")
    if name not in _SERDES:
        reader.position -= 1
        raise reader.unsupported(f"the SerDe {name}")
    properties = reader.properties() if reader.match("WITH", "SERDEPROPERTIES") else ()
    return StorageFormat(_SERDES[name], properties)


def stored_as(reader: TokenReader) -> StorageFormat:
    """What follows STORED AS or USING."""
    word = reader.word()
    if word in _UNSUPPORTED_FORMATS:
        raise reader.unsupported(f"the format {word}")
    if word not in FORMATS:
        raise reader.error(f"a file format ({', '.join(sorted(FORMATS))}) expected")
    reader.take()
    properties: tuple[tuple[str, str], ...] = (("field.delim", ","),) if word == "CSV" else ()
    return StorageFormat(FORMATS[word], properties)


def combined(row: StorageFormat | None, file: StorageFormat | None) -> StorageFormat | None:
    """ROW FORMAT with STORED AS: the file format, with the row format's properties where both are text."""
    if row is None or file is None:
        return row or file
    if file.name in (row.name, "text"):
        return StorageFormat(row.name, (*file.properties, *row.properties))
    return file
