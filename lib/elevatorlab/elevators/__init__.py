"""Elevators of your own: templates, the check, the comparison, and a course's grading."""
