"""Evidence for results in a range: bets on all results since a naming, or plan by plan with features."""
