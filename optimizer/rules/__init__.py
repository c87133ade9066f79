"""One rule a file: `rule(plan, context) -> plan`, the same object where nothing changed."""
