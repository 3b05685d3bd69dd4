"""Trust: where it comes from, what lowers it, and who vouches."""
