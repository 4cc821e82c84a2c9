"""The block device under test: made or claimed, guarded, scheduled, and given back."""
