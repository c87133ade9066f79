"""Settings of data files: splits, formats and compression."""

from __future__ import annotations

from sharkpy.base.settings.setting import Setting

SPLIT_BYTES = Setting("shark.source.split.bytes", 64 << 20, "Bytes of a file split.", least=1)
LINE_BYTES = Setting(
    "shark.text.line.max.bytes",
    256 << 20,
    "Maximum bytes of a line of a text file. A query that reads a longer line fails. 0: no limit.",
    is_guarded=True,
)
DEFAULT_FORMAT = Setting(
    "hive.default.fileformat",
    "TextFile",
    "Format of a table that is created without STORED AS. A table made from a query is Parquet unless this is set.",
)
RCFILE_SERDE = Setting(
    "hive.default.rcfile.serde",
    "org.apache.hadoop.hive.serde2.columnar.LazyBinaryColumnarSerDe",
    "SerDe of a table created as RCFILE.",
)
TEXT_TORN = Setting(
    "shark.text.torn.rows",
    False,
    "Write strings that hold delimiters to text tables without ESCAPED BY, as Hive does. Reading splits such strings.",
)
COMPRESS_OUTPUT = Setting(
    "hive.exec.compress.output",
    False,
    "Compress the text files, sequence files, RCFiles and Avro files that statements write.",
)
OUTPUT_CODEC = Setting(
    "mapreduce.output.fileoutputformat.compress.codec",
    "org.apache.hadoop.io.compress.DefaultCodec",
    "Class of the codec if output is compressed.",
    synonyms=("mapred.output.compression.codec",),
)
OUTPUT_COMPRESSION_TYPE = Setting(
    "mapreduce.output.fileoutputformat.compress.type",
    "RECORD",
    "Compression of sequence files: RECORD or BLOCK.",
    synonyms=("mapred.output.compression.type",),
)
