"""The files of a memory, its copies and its background work."""
