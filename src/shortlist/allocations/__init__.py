"""Shares of the pulls that follow the results, round by round: LinGame."""
