"""Descriptions of Python code between two queries of one task."""
