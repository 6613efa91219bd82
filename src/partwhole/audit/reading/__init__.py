"""Reading of tables, splits, targets, weights and features, validated on entry."""
