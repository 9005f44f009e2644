"""The algorithms of gap indices (Table 1 of the paper and others), the names of all, and which to take."""
