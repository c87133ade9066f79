"""Kernels of the algorithms, each over one block: compiled loops and BLAS over strips of rows that stay in cache."""
