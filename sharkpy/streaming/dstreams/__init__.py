"""Streams as a Python program writes them: operators over typed rows that become queries of the engine."""
