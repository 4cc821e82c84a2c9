"""Published numbers as claims, and the rules that give each its verdict."""
