"""Settings of data files: splits, formats and compression."""

from __future__ import annotations

from sharkpy.base.settings.setting import Setting

SPLIT_BYTES = Setting("shark.source.split.bytes", 64 << 20, "Bytes of a file split.", least=1)
LINE_BYTES = Setting(
    "shark.text.line.max.bytes",
    256 << 20,
    "Bytes of a line of a text file, which is read as a whole; a longer one ends its query. 0: any.",
    is_guarded=True,
)
DEFAULT_FORMAT = Setting(
    "hive.default.fileformat",
    "TextFile",
    "Format of a table created without STORED AS; one made from a query is Parquet unless this is set.",
)
RCFILE_SERDE = Setting(
    "hive.default.rcfile.serde",
    "org.apache.hadoop.hive.serde2.columnar.LazyBinaryColumnarSerDe",
    "SerDe of a table created as RCFILE.",
)
TEXT_TORN = Setting(
    "shark.text.torn.rows",
    False,
    "Write strings that hold delimiters to text tables without ESCAPED BY, as Hive does: they are torn when read.",
)
COMPRESS_OUTPUT = Setting(
    "hive.exec.compress.output", False, "Compress what statements write to text, sequence files, RCFiles and Avro."
)
OUTPUT_CODEC = Setting(
    "mapreduce.output.fileoutputformat.compress.codec",
    "org.apache.hadoop.io.compress.DefaultCodec",
    "Class of the codec where output is compressed.",
    synonyms=("mapred.output.compression.codec",),
)
OUTPUT_COMPRESSION_TYPE = Setting(
    "mapreduce.output.fileoutputformat.compress.type",
    "RECORD",
    "RECORD or BLOCK: how sequence files are compressed.",
    synonyms=("mapred.output.compression.type",),
)
