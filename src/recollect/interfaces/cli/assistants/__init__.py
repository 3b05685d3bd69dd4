"""The settings and hooks of assistants."""
