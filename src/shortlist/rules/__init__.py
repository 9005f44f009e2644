"""The degrees of freedom of a gap-index focused algorithm (GIFA), one module a kind."""
