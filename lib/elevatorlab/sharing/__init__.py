"""What is handed to others: bundles of results, and the check that they give the same again."""
