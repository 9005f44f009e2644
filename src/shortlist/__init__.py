"""Find the m best of K arms with a guaranteed confidence."""
