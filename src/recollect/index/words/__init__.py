"""Words of texts: tokens, how often they occur, and what a text says by its form."""
