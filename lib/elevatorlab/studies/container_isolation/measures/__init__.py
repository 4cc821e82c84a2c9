"""Quantities that verdicts, figures and tables all take from the tidy table."""
