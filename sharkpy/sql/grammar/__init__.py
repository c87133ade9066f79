"""Parser of HiveQL: text to tokens and sqlglot trees, with errors that name the expected token and the place."""
