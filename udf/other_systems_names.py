"""Functions of other systems whose names Hive does not have, with the call that errors suggest instead."""

from __future__ import annotations

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
