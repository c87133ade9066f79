"""User functions: written in Python or Java, computed inside DuckDB's queries over Arrow columns."""
