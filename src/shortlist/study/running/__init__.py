"""Evaluations made for a study: executors, calls, and the progress line."""
