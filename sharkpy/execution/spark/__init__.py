"""Spark for the engine: finding Java, starting the JVM, the context, jobs over raw frames, pools, reports."""
