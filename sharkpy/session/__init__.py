"""Sessions: SharkContext, the parts that an engine's sessions share, a statement's steps, and its result."""
