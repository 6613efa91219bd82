"""What learners over a range of representations will do with held-out combinations."""
