"""The agent: one program, standard library only, that runs a trial beside the disk.

It travels as ``agent.pyz`` (`elevatorlab.testbeds.agent_archive`) and imports nothing of the rest.
"""
