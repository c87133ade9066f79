"""What a call becomes once its arguments are simple: one table row a function."""
