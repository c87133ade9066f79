"""Functions that are not available: Hive's with the reason, other systems' with the call to use instead."""

from __future__ import annotations

_UNION = "there is no union type"
_PLANNER = "Hive's planner alone writes calls of it"
_WINDOWS = "GROUP BY window(time, size[, slide]) or session_window(time, gap) groups rows by windows of time"
_TABLES = "it is a table function over a partitioned table, of Hive's tests alone"

REFUSED = {
    "$sum0": _PLANNER,
    "bloom_filter": _PLANNER,
    "bucket_number": _PLANNER,
    "create_union": _UNION,
    "extract_union": _UNION,
    "get_llap_splits": "its splits are those of Hive's LLAP daemons",
    "get_splits": "its splits are those of Hive's LLAP daemons",
    "in_bloom_filter": _PLANNER,
    "in_file": "a query reads tables alone; make one over the file",
    "internal_interval": _PLANNER,
    "matchpath": "rows are not matched by patterns",
    "noop": _TABLES,
    "noopstreaming": _TABLES,
    "noopwithmap": _TABLES,
    "noopwithmapstreaming": _TABLES,
    "surrogate_key": "rows have no write ids to make keys of",
    "windowingtablefunction": _PLANNER,
}
"""Name -> reason."""

OF_OTHERS = {
    **dict.fromkeys(("tumble", "tumble_start", "tumble_end", "hop", "hop_start", "hop_end", "cumulate"), _WINDOWS),
    **dict.fromkeys(("session_start", "session_end"), _WINDOWS),
    "stream": "a stream is read by its name: FROM name",
}
"""Functions of streams in other systems -> the reason. They are in no listing."""


INSTEAD = {
    "charindex": "instr(str, substr)",
    "convert": "cast(x AS type)",
    "date_from_parts": "make_date(year, month, day)",
    "datetime": "cast(x AS timestamp)",
    "generate_series": "explode(sequence(start, stop))",
    "getdate": "current_timestamp()",
    "group_concat": "listagg(x, ',')",
    "input_file_name": "INPUT__FILE__NAME, without parentheses",
    "iif": "if(condition, a, b)",
    "json_extract": "get_json_object(json, '$.path')",
    "json_value": "get_json_object(json, '$.path')",
    "julianday": "datediff(date, '1970-01-01')",
    "monotonically_increasing_id": "row_number() OVER (ORDER BY …)",
    "newid": "uuid()",
    "regexp_matches": "str RLIKE pattern",
    "replicate": "repeat(str, n)",
    "str_to_date": "to_date(x)",
    "strftime": "date_format(time, pattern)",
    "string_to_array": "split(str, pattern)",
    "strpos": "instr(str, substr)",
    "sysdate": "current_timestamp()",
    "unnest": "LATERAL VIEW explode(array) t AS x",
}
"""Name -> the call to write."""
