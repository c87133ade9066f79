"""Queries of a session: planning, plan cache, admission, running, writing."""
