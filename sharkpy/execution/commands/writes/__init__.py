"""Writes of statements: rows are staged, then all targets are published together; one file per kind of target."""
