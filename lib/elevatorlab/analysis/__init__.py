"""Numbers from numbers: intervals, improvements, fits. Nothing here reads or writes a file."""
