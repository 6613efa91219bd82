"""Networks for images: batches of shape (n, height, width, channels)."""
