"""Compiled loops over the bytes of text: numba is imported with the first of them."""
