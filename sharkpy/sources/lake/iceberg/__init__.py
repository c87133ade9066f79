"""Apache Iceberg, by pyiceberg: it reads and commits metadata, and moves no data."""
