"""The function registry: one row a function, and what Hive's semantics need beside DuckDB's."""
