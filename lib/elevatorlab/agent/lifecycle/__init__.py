"""A trial from beginning to end, and how it survives who asked for it."""
