"""Statistics and models: intervals, improvements, fits. Nothing here reads or writes a file."""
