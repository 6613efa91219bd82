"""Which unseen combinations to add to training first."""
