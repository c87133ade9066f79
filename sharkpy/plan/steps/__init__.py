"""Descriptions of Python code that stands between two queries of one task."""
