"""Writes of statements: rows are staged first, then all targets put in place together. A file for each kind of
target.
"""
