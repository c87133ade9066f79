"""Replacement of subqueries by joins: conditions are pulled up, or the domain of outer values is pushed down."""
