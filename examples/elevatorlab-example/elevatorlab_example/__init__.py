"""Plug-ins for Elevator Lab: a workload, a device profile, a policy and a study."""
