"""Where the trials of a campaign run: in this process, or by the workers of a Dask cluster.

A pool has ``submit(testbed, trial, note)``, which returns a `concurrent.futures.Future` of what
`elevatorlab.pools.task.run` returns; ``stop()``; and is a context manager.
"""
