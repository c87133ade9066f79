"""Hive's functions in Java: called batch by batch inside a JVM of the process that computes."""
