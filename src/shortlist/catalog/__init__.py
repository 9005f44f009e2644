"""Every algorithm: Table 1 of the paper, those that track an allocation, and which to take."""
