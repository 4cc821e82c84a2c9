"""What operators run on a host: the isolation regulator, its audit, a scheduler's udev rule.

The rest of the agent imports nothing of it, and it does not travel with a trial: a change to it
leaves every result as it is. Its archive has the agent, too (`elevatorlab.testbeds.agent_archive`).
"""
