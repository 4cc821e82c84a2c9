"""What is handed to others: bundles of results, and the check that a rerun gives the same."""
