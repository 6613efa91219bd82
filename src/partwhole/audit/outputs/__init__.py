"""What comes out: text, JSON, and the formats of build servers, written whole or not at all."""
