"""Output as text, JSON, and formats of build servers; files are written completely or not."""
