"""What other programs write: one module for each format, and what they share."""
