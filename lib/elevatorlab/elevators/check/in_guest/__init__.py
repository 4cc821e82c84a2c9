"""What runs inside the machine that checks a scheduler; it imports nothing of the other rooms."""
