"""Pure run-time decisions from observed figures."""
