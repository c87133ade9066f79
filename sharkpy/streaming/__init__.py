"""Streams, and continuous queries that keep tables up to date with them, epoch by epoch."""
