"""Removing every byte, of one thing or of many."""
