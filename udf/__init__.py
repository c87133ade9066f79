"""The function registry: one row per function, and additions to DuckDB that Hive's semantics need."""
