"""Testbeds: where trials run."""
