"""Rows of numbers as NumPy blocks: from arrays, from tables, kept in the block store; passes over them."""
