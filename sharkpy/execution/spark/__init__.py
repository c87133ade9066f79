"""Spark for the engine: its JVM and context, RDD jobs over byte frames, pools, task reports."""
