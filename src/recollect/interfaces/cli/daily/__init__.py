"""The commands at the top: what is done every day, and what is started."""
