"""Delta Lake, by deltalake: it reads and commits logs, and moves no data."""
