"""The gap-index focused algorithms: Algorithm 1 of the paper, over arrays of runs × arms."""
