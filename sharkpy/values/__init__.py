"""Hive's types and their parser, and Arrow columns as Python values and as text."""
