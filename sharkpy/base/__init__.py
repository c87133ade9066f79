"""Errors, settings, cancellation, the generic tree, time zones, finding Java, the version: imports no other room."""
