"""Work in the background: what is asked for, and doing it."""
