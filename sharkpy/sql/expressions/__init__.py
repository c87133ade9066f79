"""Binder of expressions: sqlglot trees to bound expressions with types and explicit casts."""
