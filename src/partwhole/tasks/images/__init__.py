"""Images that show a task: where they come from, and how they are put together."""
