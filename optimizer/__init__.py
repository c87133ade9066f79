"""Rules in literal, ordered batches, cardinality, cost, and the decisions taken at run time."""
