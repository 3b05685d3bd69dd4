"""Folders of pages: which files are ours, and writing them."""
