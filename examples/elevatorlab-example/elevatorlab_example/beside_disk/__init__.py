"""What travels to the disk: the standard library of Python 3.9 and the agent, nothing else."""
