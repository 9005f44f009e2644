"""What is computed from a study: history, what remains, health, and the audit of linearity."""
