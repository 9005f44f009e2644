"""Algorithms for results that share something: differences within blocks."""
