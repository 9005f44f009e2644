"""Ask/tell: choose what to evaluate next, record the results, know when to stop."""
