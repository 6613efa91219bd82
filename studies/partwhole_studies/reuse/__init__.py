"""Feature reuse: transfer from another task by multi-task learning and finetuning."""
