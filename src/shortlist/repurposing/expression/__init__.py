"""Expression data: files, profiles, signatures and the choice of L1000 profiles."""
