"""Two copies of one memory become one again."""
