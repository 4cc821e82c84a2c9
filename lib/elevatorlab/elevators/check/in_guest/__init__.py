"""What runs inside the machine that checks a scheduler; it needs the standard library alone."""
