"""OPTIONS of USING: the options of Spark's readers and writers that each format supports, and those it refuses."""

from __future__ import annotations

from typing import TypeVar

from sharkpy.base.errors import ConfigurationError, UnsupportedError, did_you_mean
from sharkpy.base.records import dataclass

CSV = "csvfile"
"""Format name of USING csv. "csv" is the format of OpenCSVSerde."""
_CODEC = "mapreduce.output.fileoutputformat.compress.codec"
_HEADER_LINES = "skip.header.line.count"
_INVALID = "22023"


@dataclass(frozen=True, slots=True)
class FormatOptions:
    """Options of a format. Their names ignore case.

    1. `obeyed`: name -> property of the format.
    2. `fixed`: name -> the values that describe the format's only behaviour; other values are refused. Spark's options
       in neither table are refused with any value.
    """

    obeyed: dict[str, str]
    fixed: dict[str, tuple[str, ...]]


_CSV_NAMES = (
    "sep",
    "encoding",
    "quote",
    "escape",
    "comment",
    "skip",
    "header",
    "inferSchema",
    "preferDate",
    "ignoreLeadingWhiteSpace",
    "ignoreTrailingWhiteSpace",
    "nullValue",
    "emptyValue",
    "nanValue",
    "positiveInf",
    "negativeInf",
    "dateFormat",
    "timestampFormat",
    "timeZone",
    "multiLine",
    "lineSep",
    "mode",
    "columnNameOfCorruptRecord",
    "quoteAll",
    "compression",
)
_OF_FILES: dict[str, tuple[str, ...]] = {
    "recursiveFileLookup": ("true",),
    "ignoreCorruptFiles": ("false",),
    "ignoreMissingFiles": ("false",),
    "pathGlobFilter": (),
    "modifiedBefore": (),
    "modifiedAfter": (),
}
_OF_TEXTS: dict[str, tuple[str, ...]] = {
    "mode": ("PERMISSIVE",),
    "locale": ("en-US",),
    "samplingRatio": ("1", "1.0"),
    "columnNameOfCorruptRecord": (),
    "dateFormat": (),
    "timestampFormat": (),
    "timestampNTZFormat": (),
    "enableDateTimeParsingFallback": (),
}
_LINES = {"encoding": "serialization.encoding", "charset": "serialization.encoding", "compression": _CODEC}

_OPTIONS: dict[str, FormatOptions] = {
    CSV: FormatOptions(
        {name: name for name in _CSV_NAMES} | {"delimiter": "sep", "charset": "encoding", "codec": "compression"},
        _OF_FILES
        | {
            "enforceSchema": ("true",),
            "escapeQuotes": ("true",),
            "maxColumns": ("20480",),
            "maxCharsPerColumn": ("-1",),
            "unescapedQuoteHandling": ("STOP_AT_DELIMITER",),
            "charToEscapeQuoteEscaping": ("",),
            "locale": ("en-US",),
            "samplingRatio": ("1", "1.0"),
            "timestampNTZFormat": (),
            "enableDateTimeParsingFallback": (),
            "inputBufferSize": (),
            "extension": ("csv",),
            "singleVariantColumn": (),
        },
    ),
    "json": FormatOptions(
        _LINES | {"timeZone": "timeZone", "multiLine": "multiLine"},
        _OF_FILES
        | _OF_TEXTS
        | {
            "lineSep": ("\n",),
            "primitivesAsString": ("false",),
            "prefersDecimal": ("false",),
            "allowComments": ("false",),
            "allowUnquotedFieldNames": ("false",),
            "allowSingleQuotes": (),
            "allowNumericLeadingZeros": ("false",),
            "allowBackslashEscapingAnyCharacter": ("false",),
            "allowUnquotedControlChars": ("false",),
            "allowNonNumericNumbers": (),
            "dropFieldIfAllNull": ("false",),
            "ignoreNullFields": ("false",),
            "writeNonAsciiCharacterAsCodePoint": ("false",),
        },
    ),
    "text": FormatOptions(
        _LINES
        | {
            "sep": "field.delim",
            "delimiter": "field.delim",
            "escape": "escape.delim",
            "nullValue": "serialization.null.format",
            "lineSep": "line.delim",
            "header": _HEADER_LINES,
        },
        _OF_FILES | {"wholetext": ("false",)},
    ),
    "parquet": FormatOptions(
        {"compression": "parquet.compression", "parquet.compression": "parquet.compression"},
        _OF_FILES
        | {"mergeSchema": ("false",), "datetimeRebaseMode": ("CORRECTED",), "int96RebaseMode": ("CORRECTED",)},
    ),
    "orc": FormatOptions(
        {"compression": "orc.compress", "orc.compress": "orc.compress"}, _OF_FILES | {"mergeSchema": ("false",)}
    ),
    "avro": FormatOptions(
        {
            "compression": "avro.output.codec",
            "avroSchema": "avro.schema.literal",
            "avroSchemaUrl": "avro.schema.url",
        },
        _OF_FILES
        | {
            "recordName": (),
            "recordNamespace": (),
            "mode": ("FAILFAST",),
            "datetimeRebaseMode": ("CORRECTED",),
            "positionalFieldMatching": ("false",),
            "ignoreExtension": ("true",),
        },
    ),
}
_OPTIONS["sequencefile"] = _OPTIONS["text"]
_NONE = FormatOptions({}, {})
_HIVE_NAMES = {
    "field.delim": "sep",
    "separatorChar": "sep",
    "quoteChar": "quote",
    "escape.delim": "escape",
    "escapeChar": "escape",
    "serialization.null.format": "nullValue",
    "serialization.encoding": "encoding",
    "line.delim": "lineSep",
    _HEADER_LINES: "header",
}
"""Properties of Hive's SerDes -> the equivalent options of USING csv."""


def format_property(format_name: str, name: str, value: str) -> str | None:
    """Return the property that an option sets, or None if its value is the format's only behaviour."""
    table = _OPTIONS.get(format_name, _NONE)
    shown = "csv" if format_name == CSV else format_name
    if key := _lookup(table.obeyed, name):
        return key
    fixed = _lookup(table.fixed, name)
    if fixed is None:
        known = f"known: {', '.join(sorted(table.obeyed))}" if table.obeyed else None
        hint = did_you_mean(name, (*table.obeyed, *table.fixed)) or known
        if format_name == CSV and name in _HIVE_NAMES:
            hint = f"in USING csv it is the option {_HIVE_NAMES[name]}"
        raise ConfigurationError(f'the format {shown} has no option "{name}"', hint=hint, sqlstate=_INVALID)
    if value.lower() in (one.lower() for one in fixed):
        return None
    hint = f"use {' or '.join(fixed)}" if any(fixed) else None
    raise UnsupportedError(f"the option {name} '{value}' of the format {shown} is not supported", hint=hint)


def set_option(format_name: str, properties: dict[str, str], name: str, value: str) -> None:
    """Add an option of a statement to the properties of a format. Raise ConfigurationError if it is already set."""
    key = format_property(format_name, name, value)
    if key is None:
        return
    if key in properties:
        raise ConfigurationError(f'the option "{name}" is given twice', sqlstate=_INVALID)
    if key == _HEADER_LINES:
        if value.lower() not in ("true", "false"):
            raise ConfigurationError(f'"{value}" is not a value of header: true or false expected', sqlstate=_INVALID)
        value = str(int(value.lower() == "true"))
    if key != _CODEC or value.lower() not in ("none", "uncompressed"):
        properties[key] = value


_Found = TypeVar("_Found", str, tuple[str, ...])


def _lookup(table: dict[str, _Found], name: str) -> _Found | None:
    return next((value for key, value in table.items() if key.lower() == name.lower()), None)
