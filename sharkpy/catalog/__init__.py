"""Databases, tables, Hive partitions and functions of a warehouse: an embedded transactional catalog, or a Hive
metastore.
"""
