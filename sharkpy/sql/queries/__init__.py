"""Queries: a file a clause, from sqlglot trees to logical plans."""
