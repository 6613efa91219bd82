"""How limits are found."""
