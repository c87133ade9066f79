"""Functions of Hive that are not available, with the reason, which the UnsupportedError of a call gives."""

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
