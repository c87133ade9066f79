"""Malformed records of streams: counted, skipped, and read as they are."""
