"""Compiled functions, records, random numbers, and small problems of linear algebra and optimization."""
