"""HiveQL text to bound logical plans and commands: parser (on sqlglot) and binder. sqlglot ends here."""
