"""MisLid: means that are linear in the features only up to a known error."""
