"""Operator trees without Exchanges to one DuckDB query."""
