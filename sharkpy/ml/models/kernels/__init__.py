"""What the algorithms compute of one block: compiled loops and BLAS over strips of rows that stay in cache."""
