"""Compiled loops over the bytes of text. Importing one of them imports numba."""
