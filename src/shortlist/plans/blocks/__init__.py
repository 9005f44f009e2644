"""Algorithms that compare arms within blocks."""
