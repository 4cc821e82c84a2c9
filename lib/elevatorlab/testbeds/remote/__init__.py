"""Machines that a shell reaches: this one, those behind SSH, and pairs of them."""
