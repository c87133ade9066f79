"""User functions in Python or Java, computed inside DuckDB's queries over Arrow columns."""
