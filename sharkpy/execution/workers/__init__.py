"""The processes that run tasks: how they start, what they must have, and how bytes come to them and leave them.

The daemon forks workers with everything imported, a worker runs one partition of a stage, and frames in mapped files
carry what need not go through the JVM.
"""
