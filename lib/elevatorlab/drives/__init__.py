"""Disks with an arm: what they are, and how near they are to real ones."""
