"""Algorithms that proceed plan by plan: a number of pulls of each arm, then a decision."""
