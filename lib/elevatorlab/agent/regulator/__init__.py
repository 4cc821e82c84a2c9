"""The isolation regulator: monitor -> policy -> actuator, once a control period.

The system of Figure 7 in Zhou et al., "I/O Performance Isolation Analysis and Optimization
on Linux Containers". The equations are in docs/regulator.md.
"""
