"""Bound expressions and logical plans, descriptions of steps and commands: plain data without a way to run."""
