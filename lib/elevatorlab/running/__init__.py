"""Campaigns: the trials of a study, who runs them, their progress, and how long they take."""
