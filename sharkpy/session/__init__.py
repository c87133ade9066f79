"""The session: SharkContext, what sessions of an engine share, a statement on its way, its result."""
