"""Binder of queries, one file for each clause: sqlglot trees to logical plans."""
