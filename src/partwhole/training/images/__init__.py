"""Training image networks, one after another, at the speed of a bare step."""
