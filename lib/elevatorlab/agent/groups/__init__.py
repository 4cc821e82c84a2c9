"""Groups of processes: their cgroups, how they are kept apart, and the worker in each."""
