"""What sets the limit, beside the disk."""
