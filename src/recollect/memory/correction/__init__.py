"""Calls that correct a memory, take something back or let it go."""
