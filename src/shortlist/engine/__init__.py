"""Algorithm 1 of the paper: a round, the loop over rounds, and the calls into it."""
