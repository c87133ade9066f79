"""Queries of a session: planned, kept among known plans, admitted in turn, run, written."""
