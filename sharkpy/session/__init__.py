"""Sessions: SharkContext, the state that an engine's sessions share, a statement's steps, and its result."""
