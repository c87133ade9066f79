"""Bound expressions, logical plans, and descriptions of steps and commands: data without execution."""
