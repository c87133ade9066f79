"""Sinks of continuous queries that are no tables, one kind a file."""
