"""HiveQL text to tokens and sqlglot trees, with errors that say what was expected where."""
