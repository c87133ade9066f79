"""Hive's names for file formats: words of STORED AS, classes of SerDes, input formats and output formats.

A file format is a container (how a file is divided into rows) with a SerDe (how a row is divided into columns).
"""

from __future__ import annotations

from dataclasses import replace

from sharkpy.base.records import dataclass
from sharkpy.catalog.avro_schema import columns_of, given_schema
from sharkpy.catalog.format_options import CSV
from sharkpy.catalog.model import StorageFormat
from sharkpy.values.types import STRING, Field

SERDE_KEY = "serialization.lib"
"""Property with the class of the SerDe, by Hive's name, for formats with several SerDes."""
_SERDE2 = "org.apache.hadoop.hive.serde2"
_CONTRIB = "org.apache.hadoop.hive.contrib.serde2"
_IO = "org.apache.hadoop.hive.ql.io"
LAZY_SIMPLE = f"{_SERDE2}.lazy.LazySimpleSerDe"
LAZY_BINARY = f"{_SERDE2}.lazybinary.LazyBinarySerDe"
COLUMNAR = f"{_SERDE2}.columnar.ColumnarSerDe"
LAZY_BINARY_COLUMNAR = f"{_SERDE2}.columnar.LazyBinaryColumnarSerDe"

Properties = tuple[tuple[str, str], ...]
_STORAGE_KEYS = (
    "skip.header.line.count",
    "skip.footer.line.count",
    "serialization.null.format",
    "serialization.encoding",
    "serialization.format",
    "serialization.last.column.takes.rest",
    "escape.delim",
    "field.delim",
    "collection.delim",
    "colelction.delim",
    "mapkey.delim",
    "line.delim",
    "timestamp.formats",
    "parquet.compression",
    "parquet.writer.version",
    "orc.compress",
    "avro.schema.literal",
    "avro.schema.url",
    "avro.output.codec",
)
"""Table properties that control how files are read and written, as in Hive."""


@dataclass(frozen=True, slots=True)
class Container:
    """File container. `words` are its words of STORED AS. The first class of each kind is shown in listings."""

    name: str
    words: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HiveFormat:
    """File format by its `name` in `StorageFormat`: the name of its container, or of the SerDe of its lines.

    `words` are the words of STORED AS that imply the SerDe.
    """

    name: str
    container: str
    serdes: tuple[str, ...]
    words: tuple[str, ...] = ()


CONTAINERS = (
    Container(
        "text",
        ("TEXTFILE", "TEXT"),
        ("org.apache.hadoop.mapred.TextInputFormat", "org.apache.hadoop.mapreduce.lib.input.TextInputFormat"),
        (
            f"{_IO}.HiveIgnoreKeyTextOutputFormat",
            f"{_IO}.IgnoreKeyTextOutputFormat",
            "org.apache.hadoop.mapred.TextOutputFormat",
        ),
    ),
    Container(
        "sequencefile",
        ("SEQUENCEFILE",),
        ("org.apache.hadoop.mapred.SequenceFileInputFormat",),
        (f"{_IO}.HiveSequenceFileOutputFormat", "org.apache.hadoop.mapred.SequenceFileOutputFormat"),
    ),
    Container("rcfile", ("RCFILE",), (f"{_IO}.RCFileInputFormat",), (f"{_IO}.RCFileOutputFormat",)),
    Container(
        "avro",
        ("AVRO", "AVROFILE"),
        (f"{_IO}.avro.AvroContainerInputFormat",),
        (f"{_IO}.avro.AvroContainerOutputFormat",),
    ),
    Container(
        "parquet",
        ("PARQUET", "PARQUETFILE"),
        (f"{_IO}.parquet.MapredParquetInputFormat", "parquet.hive.DeprecatedParquetInputFormat"),
        (f"{_IO}.parquet.MapredParquetOutputFormat", "parquet.hive.DeprecatedParquetOutputFormat"),
    ),
    Container("orc", ("ORC", "ORCFILE"), (f"{_IO}.orc.OrcInputFormat",), (f"{_IO}.orc.OrcOutputFormat",)),
)
"""Containers. STORED AS without a SerDe selects the first format of a container below."""

FORMATS = (
    HiveFormat("text", "text", (LAZY_SIMPLE,)),
    HiveFormat(
        "json", "text", ("org.apache.hive.hcatalog.data.JsonSerDe", f"{_SERDE2}.JsonSerDe"), ("JSON", "JSONFILE")
    ),
    HiveFormat("csv", "text", (f"{_SERDE2}.OpenCSVSerde",)),
    HiveFormat(CSV, "text", ("org.apache.spark.sql.execution.datasources.csv.CSVFileFormat",)),
    HiveFormat("regex", "text", (f"{_SERDE2}.RegexSerDe", f"{_CONTRIB}.RegexSerDe")),
    HiveFormat("multidelimit", "text", (f"{_SERDE2}.MultiDelimitSerDe", f"{_CONTRIB}.MultiDelimitSerDe")),
    HiveFormat("sequencefile", "sequencefile", (LAZY_SIMPLE, LAZY_BINARY)),
    HiveFormat("rcfile", "rcfile", (LAZY_BINARY_COLUMNAR, COLUMNAR)),
    HiveFormat("avro", "avro", (f"{_SERDE2}.avro.AvroSerDe",)),
    HiveFormat("parquet", "parquet", (f"{_IO}.parquet.serde.ParquetHiveSerDe", "parquet.hive.serde.ParquetHiveSerDe")),
    HiveFormat("orc", "orc", (f"{_IO}.orc.OrcSerde",)),
)
_LAKE_CLASSES = {
    "iceberg": ("org.apache.iceberg.mr.hive.HiveIceberg", "SerDe"),
    "delta": ("io.delta.hive.Delta", "StorageHandler"),
}
"""Classes of tables made by STORED BY instead of STORED AS."""
SELF_DESCRIBING = frozenset((CSV, "json", "parquet", "orc", "avro"))
"""Names of the formats whose files contain their columns."""
_BY_NAME = {one.name: one for one in FORMATS}
_CONTAINERS = {one.name: one for one in CONTAINERS}
_BY_WORD = {word: next(f.name for f in FORMATS if f.container == one.name) for one in CONTAINERS for word in one.words}
_BY_WORD |= {word: one.name for one in FORMATS for word in one.words}
WORDS = tuple(sorted(_BY_WORD))


def format_of_word(word: str) -> StorageFormat | None:
    """Look up a format by its word in STORED AS or `hive.default.fileformat`."""
    name = _BY_WORD.get(word.upper())
    return None if name is None else StorageFormat(name)


def format_of_classes(input_format: str, output_format: str) -> StorageFormat | None:
    """Find the format of an input and output class, without a SerDe. Return None if they are unknown or do not
    match.
    """
    found = next((one for one in CONTAINERS if input_format in one.inputs and output_format in one.outputs), None)
    return None if found is None else StorageFormat(next(f.name for f in FORMATS if f.container == found.name))


def format_of_provider(word: str) -> StorageFormat | None:
    """Look up a format by its word after USING."""
    return StorageFormat(CSV) if word.upper() == "CSV" else format_of_word(word)


def holds_untyped_values(storage: StorageFormat) -> bool:
    """Return whether files hold binary values without their types: another type reads other values."""
    serde = dict(storage.properties).get(SERDE_KEY)
    return serde == LAZY_BINARY if storage.name == "sequencefile" else storage.name == "rcfile" and serde != COLUMNAR


def provider_of(storage: StorageFormat) -> str:
    """Return the name of a format after USING."""
    return "csv" if storage.name == CSV else storage.name


def known_classes(is_input: bool) -> tuple[str, ...]:
    return tuple(name for one in CONTAINERS for name in (one.inputs if is_input else one.outputs))


def format_of_serde(serde: str, properties: tuple[tuple[str, str], ...]) -> StorageFormat | None:
    """Find the format of ROW FORMAT SERDE without STORED AS: lines of text if the SerDe can read them."""
    found = next((one for one in FORMATS if serde in one.serdes), None)
    return None if found is None else _with_class(found, serde, properties)


def with_serde(storage: StorageFormat, serde: str, properties: tuple[tuple[str, str], ...]) -> StorageFormat | None:
    """Replace the SerDe of `storage`. Return None if the SerDe does not support its container."""
    container = _BY_NAME[storage.name].container
    found = next((one for one in FORMATS if one.container == container and serde in one.serdes), None)
    if found is None:
        return None
    options = storage.properties if storage.name != CSV else ()
    kept = tuple(item for item in options if item[0] != SERDE_KEY and item[0] not in dict(properties))
    return _with_class(found, serde, (*kept, *properties))


def serde_of(storage: StorageFormat) -> str:
    return dict(storage.properties).get(SERDE_KEY, _BY_NAME[storage.name].serdes[0])


def with_default_serde(storage: StorageFormat, serde: str) -> StorageFormat:
    """Give `storage` the SerDe of a setting, unless it has its own."""
    if SERDE_KEY in dict(storage.properties) or serde not in _BY_NAME[storage.name].serdes:
        return storage
    return _with_class(_BY_NAME[storage.name], serde, storage.properties)


def hive_classes(storage: StorageFormat) -> tuple[str, str, str]:
    """Return the classes of a format: SerDe, input format and output format."""
    if storage.name in _LAKE_CLASSES:
        start, serde = _LAKE_CLASSES[storage.name]
        return f"{start}{serde}", f"{start}InputFormat", f"{start}OutputFormat"
    container = _CONTAINERS[_BY_NAME[storage.name].container]
    return serde_of(storage), container.inputs[0], container.outputs[0]


def container_of(storage: StorageFormat) -> Container:
    return _CONTAINERS[_BY_NAME[storage.name].container]


def has_default_serde(storage: StorageFormat) -> bool:
    """Return True if STORED AS fully describes the format, apart from delimiters."""
    found = _BY_NAME[storage.name]
    first = next(one for one in FORMATS if one.container == found.container)
    return serde_of(storage) == first.serdes[0]


def with_storage_properties(storage: StorageFormat, properties: Properties) -> StorageFormat:
    """Add the table properties that describe files to `storage`."""
    given = {key: value for key, value in properties if key in _STORAGE_KEYS}
    return with_serde_properties(storage, tuple(given.items()))


def with_serde_properties(storage: StorageFormat, properties: Properties) -> StorageFormat:
    """Add SerDe properties to `storage`, replacing properties of the same name."""
    merged = dict(storage.properties) | dict(properties)
    return replace(storage, properties=tuple(merged.items()))


def columns_of_format(
    storage: StorageFormat, properties: tuple[tuple[str, str], ...], columns: list[Field] | None
) -> list[Field] | None:
    """Return the columns of a table that declares `columns` or none. An Avro schema in its properties replaces them. In
    CSV all columns are strings.
    """
    if storage.name == "avro" and (record := given_schema((*properties, *storage.properties))) is not None:
        return list(columns_of(record))
    if storage.name == "csv" and columns is not None:
        return [replace(column, dtype=STRING) for column in columns]
    return columns


def _with_class(found: HiveFormat, serde: str, properties: tuple[tuple[str, str], ...]) -> StorageFormat:
    storage = StorageFormat(found.name, properties)
    if serde == found.serdes[0]:
        return storage
    return replace(storage, properties=((SERDE_KEY, serde), *properties))
