"""Results on disk, their schemas, and the tidy tables made of them."""
