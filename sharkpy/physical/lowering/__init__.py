"""Lowering of operator trees without Exchanges to one DuckDB query."""
