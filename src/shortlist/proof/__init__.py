"""What carries proof: plans with their results, the evidence they give, and the sets that were named."""
