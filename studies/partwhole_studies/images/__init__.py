"""Networks that see composed images, trained beside the kernel theory (Lippl & Stachenfeld)."""
