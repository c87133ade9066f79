"""Data of Python programs as tables."""
