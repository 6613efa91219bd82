"""Gates: the input alone decides which weights a unit applies, before learning."""
