"""Worker processes, which run tasks: their start, requirements, and data transfer.

The daemon forks workers with everything imported. A worker runs one partition of a stage. Frames in mapped files carry
bytes that need not go through the JVM.
"""
