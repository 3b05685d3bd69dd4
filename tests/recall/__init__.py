"""What shows, in which order, packed how."""
