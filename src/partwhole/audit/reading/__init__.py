"""What goes in: tables, splits, targets, weights and features, checked at the door."""
