"""Optimal designs: fixed shares of the pulls that best tell one direction, or many."""
