"""Joins in place of subqueries: their conditions pulled up, or the domain of outer values pushed down."""
