"""Databases, tables and Hive partitions of a Hive metastore, as a `TableStore`."""
