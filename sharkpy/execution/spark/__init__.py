"""Spark as the engine uses it: finding Java, starting the JVM, the context, jobs over raw frames, pools, reports."""
