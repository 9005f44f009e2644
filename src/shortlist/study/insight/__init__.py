"""What a study shows of itself: history, what remains, health, and the audit of linearity."""
