"""Results that somebody already has, from the tools' own reports, as a tidy table."""
