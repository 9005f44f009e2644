"""Ask/tell: choose what to evaluate next, take in the results, know when to stop."""
