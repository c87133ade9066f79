"""Hive's functions in Java, called batch by batch in a JVM inside the computing process."""
