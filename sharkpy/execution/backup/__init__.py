"""Backups of a warehouse: consistent copies, checked when they are restored."""
