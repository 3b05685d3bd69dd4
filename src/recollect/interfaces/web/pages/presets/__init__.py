"""Presets: the list, one of them, and its fields."""
