"""What the results say of every arm: least squares, kept up to date."""
