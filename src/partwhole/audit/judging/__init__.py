"""Which rules the evidence breaks, and the finding that says so."""
