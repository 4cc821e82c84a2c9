"""What is read while a trial runs: counters, traces, and what the machine is."""
