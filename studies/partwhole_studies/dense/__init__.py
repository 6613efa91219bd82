"""Dense networks beside the kernel theory, from rich to lazy (Lippl & Stachenfeld)."""
