"""Networks that see images: batches of shape (n, height, width, channels)."""
