"""Statements that are not queries: a file a family, each from its words to a command."""
