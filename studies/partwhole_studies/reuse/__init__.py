"""Feature reuse: what multi-task learning and finetuning take over from another task."""
