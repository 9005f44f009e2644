"""How pulls are shared out among the arms, for the selection rule `tracking`."""
