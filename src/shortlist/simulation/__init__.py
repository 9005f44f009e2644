"""Instances whose truth is known, and many runs on them side by side."""
