"""Simplifications of calls whose arguments are simple already: one table row a function."""
