"""The forms of EXPLAIN: plans, dependencies, and the tree with measured figures."""
