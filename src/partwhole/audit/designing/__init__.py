"""Parts of a designed split: its sums, lower bound, shortcut, grades and certificate."""
