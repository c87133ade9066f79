"""Binder of statements other than queries, one file for each family: words to commands."""
