"""Statements about streams and continuous tables."""
