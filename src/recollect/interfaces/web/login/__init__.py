"""How a browser gets in: the start page, sessions and tokens."""
