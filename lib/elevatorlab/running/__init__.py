"""Many trials: what a study expands to, who runs it, how far it is, and what it will take."""
