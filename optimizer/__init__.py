"""Rules in literal, ordered batches, cardinality, cost, and run-time decisions."""
