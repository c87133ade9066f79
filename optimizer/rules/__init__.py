"""Rules: `rule(plan, context) -> plan`, which returns the same object if nothing changed."""
