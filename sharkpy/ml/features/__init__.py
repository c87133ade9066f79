"""Rows of numbers as NumPy blocks, from arrays or tables, cached in the block store, and passes over them."""
