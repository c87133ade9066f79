"""Expressions: from sqlglot trees to bound expressions with types, casts made explicit."""
