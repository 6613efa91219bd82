"""Gates: which of its weights a unit applies is decided by the input alone, before learning."""
