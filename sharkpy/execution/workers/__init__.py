"""Worker processes, which run tasks: their start, their requirements, and the ways of bytes to and from them.

The daemon forks workers with everything imported, a worker runs one partition of a stage, and frames in mapped files
carry bytes that need not go through the JVM.
"""
