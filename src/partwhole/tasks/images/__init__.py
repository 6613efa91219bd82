"""Images of a task's components: their sources and their composition."""
