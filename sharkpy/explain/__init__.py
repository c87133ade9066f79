"""The forms of EXPLAIN: plans, dependencies, and the tree with what was measured."""
