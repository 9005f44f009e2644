"""Numbers, arrays and compiled functions: what knows nothing of bandits."""
