"""Algorithms that proceed plan by plan: so many pulls of each arm, then a decision."""
