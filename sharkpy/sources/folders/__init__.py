"""Folders of tables, local and remote: generations of files, and which of them count."""
