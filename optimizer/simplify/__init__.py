"""Simplifications of calls whose arguments are already simple: one table row per function."""
