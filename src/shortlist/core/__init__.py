"""Posterior, rules and the loop: everything that runs compiled."""
