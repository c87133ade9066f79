"""Backups of a warehouse: a copy of one state of it, checked when it is restored."""
