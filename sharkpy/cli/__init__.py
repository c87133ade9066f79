"""Shell and command line: interactive session, output formats, doctor, warmup."""
