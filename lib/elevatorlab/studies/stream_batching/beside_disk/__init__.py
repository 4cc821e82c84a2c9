"""What runs on the machine that has the processors of host and target."""
