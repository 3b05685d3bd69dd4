"""Jobs: what was asked for and is done in the background."""
