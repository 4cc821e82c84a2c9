"""Disks with an arm: their models, and how near these are to real drives."""
