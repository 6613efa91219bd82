"""How well components alone predict the targets of training and of test."""
