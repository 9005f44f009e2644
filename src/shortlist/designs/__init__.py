"""Designs: how pulls are best shared out to tell one direction, or many."""
