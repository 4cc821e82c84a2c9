"""What runs in the machine."""
